"""Tokens that say by their own shape whose they are: kind → pattern, in the syntax that RE2 and ``re`` share.

Shapes from the providers' documentation of their token formats and their registrations for secret scanning
(https://docs.github.com/code-security/secret-scanning). Order matters: the first that matches names the kind.
"""

from __future__ import annotations

PROVIDERS: dict[str, str] = {
    "aws": r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}",
    "github": r"gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,}",
    # What follows the points says which part of a large instance it belongs to, and is a checksum.
    "gitlab": (
        r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct|rtr|wt)-[A-Za-z0-9_-]{20,}(?:\.[0-9a-z]{2}\.[0-9a-z]{9})?"
        r"|GR1348941[A-Za-z0-9_-]{20,}"
    ),
    "slack": (
        r"xoxd-[A-Za-z0-9%+/=_-]{40,}|xox[abceoprs]-(?:\d+-)?[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,}"
        r"|(?:https?://)?hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,}"
    ),
    "anthropic": r"sk-ant-[A-Za-z0-9_-]{20,}",
    "openrouter": r"sk-or-(?:v\d-)?[A-Za-z0-9]{32,}",
    "openai": (
        r"sk-(?:proj|svcacct|admin|service|None)-[A-Za-z0-9_-]{20,}"
        r"|sk-[A-Za-z0-9]{16,}T3BlbkFJ[A-Za-z0-9]{16,}|sk-[A-Za-z0-9]{32,}|sess-[A-Za-z0-9]{40}"
    ),
    "google": (
        r"AIza[A-Za-z0-9_-]{35}|AQ\.[A-Za-z0-9_-]{40,}|GOCSPX-[A-Za-z0-9_-]{28}|ya29\.[A-Za-z0-9_-]{20,}"
        r"|1//0[A-Za-z0-9_-]{30,}"
    ),
    "stripe": r"[rs]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/]{24,}",
    "npm": r"npm_[A-Za-z0-9]{36}",
    "pypi": r"pypi-[A-Za-z0-9_-]{40,}",
    "huggingface": r"hf_[A-Za-z0-9]{30,}|api_org_[A-Za-z0-9]{30,}",
    "sendgrid": r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    "twilio": r"SK[0-9a-f]{32}",
    "digitalocean": r"do[opr]_v1_[a-f0-9]{64}",
    "databricks": r"dapi[0-9a-f]{32}(?:-\d)?",
    "linear": r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}",
    "notion": r"ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}",
    "shopify": r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
    "square": r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}|EAAA[A-Za-z0-9_-]{60}",
    "mailgun": r"key-[0-9a-f]{32}",
    "mailchimp": r"[0-9a-f]{32}-us\d{1,2}",
    "telegram": r"[0-9]{8,}:AA[A-Za-z0-9_-]{33}",
    "discord": (
        # The first part is an account's number in base64.
        r"[MNO][DTjz][AEIMQUYcgk][w-z0-5][A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"
        r"|discord(?:app)?\.com/api/webhooks/[0-9]{10,}/[A-Za-z0-9_-]{40,}"
    ),
    "vault": r"hv[sbr]\.[A-Za-z0-9_-]{24,}",
    "age": r"AGE-SECRET-KEY-1[0-9A-Z]{58}",
    "docker": r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}",
    "grafana": r"glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|glc_[A-Za-z0-9+/]{32,}",
    "newrelic": r"NRAK-[A-Z0-9]{27}|NRJS-[a-f0-9]{19}",
    "sentry": r"sntry[su]_[A-Za-z0-9+/=_-]{40,}",
    "groq": r"gsk_[A-Za-z0-9]{40,}",
    "xai": r"xai-[A-Za-z0-9]{60,}",
    "replicate": r"r8_[A-Za-z0-9]{37}",
    "perplexity": r"pplx-[A-Za-z0-9]{40,}",
    "fly": r"fo1_[A-Za-z0-9_-]{40,}|fm[12][ar]?_[A-Za-z0-9+/=]{60,}",
    "doppler": r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{30,}",
    "postman": r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}",
    "figma": r"fig[dou][rh]?_[A-Za-z0-9_-]{38,}",
    "tailscale": r"tskey-[a-z]{2,}-[A-Za-z0-9]{8,}-[A-Za-z0-9]{16,}",
    "netlify": r"nf[pcou]_[A-Za-z0-9]{36}",
    "rubygems": r"rubygems_[a-f0-9]{48}",
    "crates": r"cio[A-Za-z0-9]{32}",
    "terraform": r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}",
    "airtable": r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}",
    "atlassian": r"ATATT3[A-Za-z0-9_=-]{50,}|ATBB[A-Za-z0-9]{24,}|ATCTT3[A-Za-z0-9_=-]{50,}",
    "planetscale": r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_=.-]{32,}",
    "supabase": r"sb_secret_[A-Za-z0-9_-]{20,}|sbp_[a-f0-9]{40}",
    # Of an application; and, since 2024, of most services, which sign their keys
    # (https://github.com/microsoft/security-utilities).
    "azure": (
        r"[A-Za-z0-9_~.-]{3}8Q~[A-Za-z0-9_~.-]{31,}"
        r"|[A-Za-z0-9]{52}JQQJ9[9DH][A-Za-z0-9][A-L][A-Za-z0-9]{16}[A-Za-z][A-Za-z0-9]{7}(?:[A-Za-z0-9]{2}==)?"
    ),
    "onepassword": (
        r"ops_eyJ[A-Za-z0-9+/_=-]{40,}|A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"
    ),
    "facebook": r"EAA[A-Za-z0-9]{60,}",
    "dropbox": r"sl\.[A-Za-z0-9_-]{120,}",
    "resend": r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}",
    "langsmith": r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}",
    "langfuse": r"sk-lf-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    "pinecone": r"pcsk_[A-Za-z0-9]{4,8}_[A-Za-z0-9]{50,}",
    "e2b": r"e2b_[0-9a-f]{40}",
    "tavily": r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{32}",
    "firecrawl": r"fc-[0-9a-f]{32}",
    "vercel": r"vercel_blob_rw_[A-Za-z0-9]{10,}_[A-Za-z0-9]{20,}|vc[apirk]_[A-Za-z0-9]{50,}",
    "cloudflare": r"cf(?:ut|at|k)_[A-Za-z0-9]{48}",
    "posthog": r"ph[xsr]_[A-Za-z0-9]{40,}",
    "contentful": r"CFPAT-[A-Za-z0-9_-]{43}",
    "heroku": r"HRKU-[A-Za-z0-9_-]{36,}",
    "jfrog": r"AKCp[A-Za-z0-9]{60,}|cmVmdGtuOj[A-Za-z0-9]{50,}",
    "buildkite": r"bk(?:ua|ct|aj)_[0-9a-f]{40}",
    "circleci": r"CCI(?:PAT|PRJ)_[A-Za-z0-9]{22}_[0-9a-f]{40}",
    "mapbox": r"sk\.eyJ[A-Za-z0-9_-]{40,}\.[A-Za-z0-9_-]{20,}",
    "neon": r"napi_[a-z0-9]{50,}",
    "nvidia": r"nvapi-[A-Za-z0-9_-]{60,}",
    "jina": r"jina_[A-Za-z0-9]{60,}",
    "voyage": r"pa-[A-Za-z0-9_-]{43}",
    "cerebras": r"csk-[a-z0-9]{40,}",
    "together": r"tgp_v1_[A-Za-z0-9_-]{40,}",
    "elevenlabs": r"sk_[0-9a-f]{48}",
    "bedrock": r"ABSK[A-Za-z0-9+/]{100,}={0,2}",
    "hubspot": r"pat-(?:na|eu)\d-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    "dynatrace": r"dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}",
    "pulumi": r"pul-[0-9a-f]{40}",
    "prefect": r"pn[bu]_[A-Za-z0-9]{36}",
    "brevo": r"x(?:keys|smtps)ib-[0-9a-f]{64}-[A-Za-z0-9]{16}",
    "apify": r"apify_api_[A-Za-z0-9]{30,}",
    "sonar": r"sq[apu]_[0-9a-f]{40}",
    "sourcegraph": r"sgp_(?:[a-z0-9]{16}_|local_)?[0-9a-f]{40}",
    "runpod": r"rpa_[A-Z0-9]{40,}[a-z0-9]{0,8}",
    "plaid": r"access-(?:sandbox|development|production)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    "readme": r"rdme_[a-z0-9]{70}",
    "clojars": r"CLOJARS_[0-9a-f]{60}",
    "nuget": r"oy2[a-z0-9]{43}",
    "teams": (
        r"(?:[a-z0-9-]{1,60}\.webhook\.office\.com/webhookb2|outlook\.office(?:365)?\.com/webhook)"
        r"/[A-Za-z0-9@-]{60,}/IncomingWebhook/[A-Za-z0-9/-]{40,}"
    ),
    "zapier": r"hooks\.zapier\.com/hooks/catch/[0-9]{4,}/[a-z0-9]{6,}",
    "cursor": r"crsr_[0-9a-f]{64}",
    "fireworks": r"fw_[A-Za-z0-9]{22,}",
    "context7": r"ctx7sk-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    "render": r"rnd_[A-Za-z0-9]{28,}",
    "trigger": r"tr_(?:dev|prod|stg|preview)_[A-Za-z0-9]{20,}",
    "inngest": r"signkey-(?:prod|test|branch|staging)-[0-9a-f]{64}",
    "axiom": r"xa[ap]t-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    "mailersend": r"mlsn\.[0-9a-f]{64}",
    "paddle": r"pdl_(?:live|sdbx)_apikey_[a-z0-9]{26}_[A-Za-z0-9]{22}_[A-Za-z0-9]{3}",
    "polar": r"polar_[a-z]{2,6}_[A-Za-z0-9]{40,}",
    "logfire": r"pylf_v\d_[a-z]{2,8}_[A-Za-z0-9]{40,}",
    "honeycomb": r"hca[a-z]{2}_[a-z0-9]{58,}",
    "socket": r"sktsec_[A-Za-z0-9_-]{40,}",
    "brave": r"BSA[A-Za-z0-9_-]{27,28}",
    "infisical": r"st\.[0-9a-f-]{20,36}\.[0-9a-f]{32}\.[0-9a-f]{32}",
    "swarm": r"SWMTKN-1-[a-z0-9]{50}-[a-z0-9]{25}",
    "zuplo": r"zpka_[0-9a-f]{32}_[0-9a-f]{8}",
    "unkey": r"unkey_[A-Za-z0-9]{20,}",
    "nostr": r"nsec1[02-9ac-hj-np-z]{58}",
    "k3s": r"K10[0-9a-f]{64}::(?:server|node|[a-z0-9]{6}):[a-z0-9.]{16,}",
    "helicone": r"sk-helicone-(?:[a-z]{2}-)?[a-z0-9]{5,}(?:-[a-z0-9]{5,}){2,}",
    "infura": r"infura\.io/(?:ws/)?v3/[0-9a-f]{32}",
    "alchemy": r"alchemy(?:api)?\.(?:com|io)/(?:nft/)?v\d/[A-Za-z0-9_-]{32}",
    "amp": r"sgamp_user_[A-Z0-9]{26}_[0-9a-f]{64}",
    "daytona": r"dtn_[A-Za-z0-9]{40,}",
    "typeform": r"tfp_[A-Za-z0-9._=-]{40,}",
    "onesignal": r"os_v2_(?:app|org)_[a-z0-9]{80,}",
    "xata": r"xau_[A-Za-z0-9]{36,}",
    "atlas": r"mdb_sa_sk_[A-Za-z0-9_-]{40}",
    "cockroach": r"CCDB1_[A-Za-z0-9]{22}_[A-Za-z0-9]{40}",
    "astra": r"AstraCS:[A-Za-z]{24}:[0-9a-f]{64}",
    "infracost": r"ico-[A-Za-z0-9]{32}",
    "octopus": r"API-[A-Z0-9]{25,32}",
    "trello": r"ATTA[0-9a-f]{72}",
    "yandex": r"AQVN[A-Za-z0-9_-]{35,38}|y[0-3]_[A-Za-z0-9_-]{55,}",
    "flutterwave": r"FLWSECK(?:_TEST)?-[0-9a-f]{12,32}(?:-X)?",
    "woocommerce": r"c[ks]_[0-9a-f]{40}",
    "easypost": r"EZ[AT]K[A-Za-z0-9]{54}",
    "adobe": r"p8e-[A-Za-z0-9_-]{32}",
    "openshift": r"sha256~[A-Za-z0-9_-]{43}",
    "firebase": r"AAAA[A-Za-z0-9_-]{7}:APA91b[A-Za-z0-9_-]{100,}",
    "braintree": r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}",
    "wecom": r"qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=[0-9a-f-]{36}",
    "ifttt": r"maker\.ifttt\.com/trigger/[A-Za-z0-9_-]{1,80}/(?:json/)?with/key/[A-Za-z0-9_-]{20,}",
    # Extended private keys of wallets (BIP 32).
    "wallet": r"[xyz]prv[1-9A-HJ-NP-Za-km-z]{100,112}",
    # What `aws ecr get-login-password` prints: JSON that begins with its payload.
    "ecr": r"eyJwYXlsb2FkIjo[gi][A-Za-z0-9+/]{200,}={0,2}",
    # What a password is kept as: bcrypt, crypt(5)'s other methods, Argon2. It can be tried out.
    "crypt": (
        r"\$2[abxy]\$\d\d\$[A-Za-z0-9./]{53}|\$(?:apr1|1)\$[A-Za-z0-9./]{1,8}\$[A-Za-z0-9./]{22}"
        r"|\$[56]\$(?:rounds=\d{1,9}\$)?[A-Za-z0-9./]{1,16}\$[A-Za-z0-9./]{43,86}"
        r"|\$argon2(?:id|i|d)\$v=\d+\$m=\d+,t=\d+,p=\d+\$[A-Za-z0-9+/]{8,64}\$[A-Za-z0-9+/]{16,128}"
    ),
    "cloudflared": r"eyJhIjoi[A-Za-z0-9+/_-]{100,}={0,2}",
    # What `django-admin startproject` writes.
    "django": r"django-insecure-[a-z0-9!@#$%^&*(_=+)-]{40,}",
    # Whose they are is not known, but that they let somebody in: `acme_pat_…`, `sk-acme-…`.
    "secret": (
        r"(?:(?:[a-z][a-z0-9]{1,11}[_-])?(?:oat|apikey)|[as]k|pat|[a-z]{2,8}_(?:live|prod))[_-]"
        r"(?:[a-z][a-z0-9]{1,9}[_-]){0,2}[A-Za-z0-9]{24,}(?:[_-][A-Za-z0-9]{3,64}){0,4}"
    ),
    # In base64, as in kubeconfig (`client-key-data`) and secrets of Kubernetes: what begins as PEM does.
    "private-key": (
        r"LS0tLS1CRUdJTi(?:BSU0EgUFJJVkFURS|BQUklWQVRF|BFQyBQUklWQVRF|BPUEVOU1NIIFBSSVZBVEU|BFTkNSWVBURUQgUFJJVkFURS"
        r"|BEU0EgUFJJVkFURS|BQR1AgUFJJVkFURS)[A-Za-z0-9+/]{40,}={0,2}"
    ),
}

# For the automaton, where a token's beginning says nothing: what within it is telling.
WITHIN: dict[str, str] = {
    "mailchimp": r"[0-9a-f]-us\d",
    "telegram": r":AA[A-Za-z0-9_-]{33}",
    "discord": r"discord(?:app)?\.com/api/webhooks/",
    "terraform": r"\.atlasv1\.",
    "azure": r"8Q~[A-Za-z0-9_~.-]{31}|JQQJ9[9DH][A-Za-z0-9]{8}",
    "teams": r"\.office(?:365)?\.com/webhook(?:b2)?/",
    "infura": r"infura\.io/(?:ws/)?v3/",
    "alchemy": r"alchemy(?:api)?\.(?:com|io)/",
    "crypt": r"\$(?:2[abxy]|apr1|[156]|argon2[id]+)\$",
    "secret": r"(?:oat|apikey|_live|_prod)[_-](?:[a-z][a-z0-9]+[_-])*[A-Za-z0-9]{8}",
}
# Beginnings that no word goes on with, behind a hyphen or an underscore either: `build-ghp_…`.
DISTINCT: dict[str, str] = {
    "aws": r"(?:AKIA|ASIA)[A-Z2-7]{8}",
    "github": r"gh[pousr]_[A-Za-z0-9]{8}|github_pat_",
    "gitlab": r"gl(?:pat|dt|rt|cbt|ptt)-[A-Za-z0-9_-]{8}",
    "slack": r"xox[abceoprs]-[0-9]|xapp-[0-9]-",
    "anthropic": r"sk-ant-",
    "openrouter": r"sk-or-v[0-9]-",
    "openai": r"sk-(?:proj|svcacct)-",
    "google": r"AIza[A-Za-z0-9_-]{8}|GOCSPX-",
    "stripe": r"[sr]k_(?:live|test)_|whsec_[A-Za-z0-9]{8}",
    "npm": r"npm_[A-Za-z0-9]{16}",
    "pypi": r"pypi-AgE",
    "huggingface": r"hf_[A-Za-z0-9]{16}",
    "jwt": r"eyJ[A-Za-z0-9]{8,}\.eyJ",
}
# For the automaton: beginnings that say enough; what follows would only be states.
BEGINNINGS: dict[str, str] = {
    "private-key": r"LS0tLS1CRUdJTi",
    "django": r"django-insecure-",
    "resend": r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{4}",
    "helicone": r"sk-helicone-",
    "langsmith": r"lsv2_[ps]",
    "langfuse": r"sk-lf-[0-9a-f]{4}",
    "pinecone": r"pcsk_",
    "e2b": r"e2b_[0-9a-f]{4}",
    "tavily": r"tvly-",
    "firecrawl": r"fc-[0-9a-f]{8}",
    "vercel": r"vercel_blob_rw_|vc[apirk]_[A-Za-z0-9]{8}",
    "cloudflare": r"cf(?:ut|at|k)_[A-Za-z0-9]{8}",
    "posthog": r"ph[xsr]_[A-Za-z0-9]{8}",
    "contentful": r"CFPAT-",
    "heroku": r"HRKU-",
    "jfrog": r"AKCp[A-Za-z0-9]{8}|cmVmdGtuOj",
    "buildkite": r"bk(?:ua|ct|aj)_[0-9a-f]{4}",
    "circleci": r"CCIP(?:AT|RJ)_",
    "mapbox": r"sk\.eyJ",
    "neon": r"napi_[a-z0-9]{12}",
    "nvidia": r"nvapi-",
    "jina": r"jina_[A-Za-z0-9]{12}",
    "cerebras": r"csk-[a-z0-9]{12}",
    "together": r"tgp_v1_",
    "elevenlabs": r"sk_[0-9a-f]{8}",
    "bedrock": r"ABSK[A-Za-z0-9+/]{12}",
    "hubspot": r"pat-(?:na|eu)\d-",
    "dynatrace": r"dt0[a-z]\d\d\.",
    "pulumi": r"pul-[0-9a-f]{8}",
    "prefect": r"pn[bu]_[A-Za-z0-9]{8}",
    "brevo": r"x(?:keys|smtps)ib-",
    "apify": r"apify_api_",
    "sonar": r"sq[apu]_[0-9a-f]{8}",
    "sourcegraph": r"sgp_[a-z0-9]{4}",
    "runpod": r"rpa_[A-Z0-9]{8}",
    "plaid": r"access-(?:sandbox|development|production)-",
    "readme": r"rdme_",
    "clojars": r"CLOJARS_",
    "nuget": r"oy2[a-z0-9]{16}",
    "zapier": r"hooks\.zapier\.com/",
    "cursor": r"crsr_",
    "fireworks": r"fw_[A-Za-z0-9]{8}",
    "context7": r"ctx7sk-",
    "render": r"rnd_[A-Za-z0-9]{8}",
    "trigger": r"tr_[a-z]+_[A-Za-z0-9]{8}",
    "inngest": r"signkey-",
    "axiom": r"xa[ap]t-[0-9a-f]{8}",
    "mailersend": r"mlsn\.",
    "paddle": r"pdl_",
    "polar": r"polar_[a-z]+_[A-Za-z0-9]{8}",
    "logfire": r"pylf_",
    "honeycomb": r"hca[a-z]{2}_",
    "socket": r"sktsec_",
    "brave": r"BSA[A-Za-z0-9_-]{16}",
    "infisical": r"st\.[0-9a-f-]{8}",
    "swarm": r"SWMTKN-",
    "zuplo": r"zpka_",
    "unkey": r"unkey_[A-Za-z0-9]{8}",
    "nostr": r"nsec1[02-9ac-hj-np-z]{8}",
    "k3s": r"K10[0-9a-f]{8}",
    "cloudflared": r"eyJhIjoi",
    "amp": r"sgamp_",
    "daytona": r"dtn_[A-Za-z0-9]{8}",
    "typeform": r"tfp_",
    "onesignal": r"os_v2_",
    "xata": r"xau_",
    "atlas": r"mdb_sa_",
    "cockroach": r"CCDB1_",
    "astra": r"AstraCS:",
    "infracost": r"ico-[A-Za-z0-9]{12}",
    "octopus": r"API-[A-Z0-9]{12}",
    "trello": r"ATTA[0-9a-f]{8}",
    "yandex": r"AQVN[A-Za-z0-9_-]{8}|y[0-3]_[A-Za-z0-9_-]{12}",
    "flutterwave": r"FLWSECK",
    "woocommerce": r"c[ks]_[0-9a-f]{8}",
    "easypost": r"EZ[AT]K[A-Za-z0-9]{8}",
    "adobe": r"p8e-",
    "openshift": r"sha256~",
    "firebase": r"AAAA[A-Za-z0-9_-]{7}:APA91b",
    "braintree": r"access_token\$",
    "wecom": r"qyapi\.weixin",
    "ifttt": r"maker\.ifttt",
    "wallet": r"[xyz]prv[1-9A-HJ-NP-Za-km-z]{8}",
    "ecr": r"eyJwYXls",
}
