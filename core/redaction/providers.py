"""Tokens that say by their own shape whose they are: kind → pattern, in the syntax that RE2 and ``re`` share.

Shapes from the providers' documentation of their token formats and their registrations for secret scanning
(https://docs.github.com/code-security/secret-scanning). Order matters: the first that matches names the kind.
"""

from __future__ import annotations

PROVIDERS: dict[str, str] = {
    "aws": r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}",
    "github": r"gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,}",
    "gitlab": r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct|rtr)-[A-Za-z0-9_-]{20,}",
    "slack": (
        r"xox[abceoprs]-(?:\d+-)?[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,}"
        r"|(?:https?://)?hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,}"
    ),
    "anthropic": r"sk-ant-[A-Za-z0-9_-]{20,}",
    "openrouter": r"sk-or-(?:v\d-)?[A-Za-z0-9]{32,}",
    "openai": (
        r"sk-(?:proj|svcacct|admin|service|None)-[A-Za-z0-9_-]{20,}"
        r"|sk-[A-Za-z0-9]{16,}T3BlbkFJ[A-Za-z0-9]{16,}|sk-[A-Za-z0-9]{32,}|sess-[A-Za-z0-9]{40}"
    ),
    "google": (r"AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{28}|ya29\.[A-Za-z0-9_-]{20,}|1//0[A-Za-z0-9_-]{30,}"),
    "stripe": r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/]{24,}",
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
    "square": r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}",
    "mailgun": r"key-[0-9a-f]{32}",
    "mailchimp": r"[0-9a-f]{32}-us\d{1,2}",
    "telegram": r"[0-9]{8,}:AA[A-Za-z0-9_-]{33}",
    "discord": (
        r"[MNO][A-Za-z0-9_-]{23,}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"
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
    "azure": r"[A-Za-z0-9_~.-]{3}8Q~[A-Za-z0-9_~.-]{31,}",
    "onepassword": r"ops_eyJ[A-Za-z0-9_=-]{40,}",
    "facebook": r"EAA[A-Za-z0-9]{60,}",
    "dropbox": r"sl\.[A-Za-z0-9_-]{120,}",
}

# For the automaton, which is slow where a pattern may begin anywhere: what in the token is telling.
LANDMARKS: dict[str, str] = {
    "mailchimp": r"[0-9a-f]-us\d",
    "telegram": r":AA[A-Za-z0-9_-]{33}",
    "discord": r"\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27}|discord(?:app)?\.com/api/webhooks/",
    "terraform": r"\.atlasv1\.",
    "facebook": r"(?:^|[^A-Za-z0-9+/]|\\[nrt])EAA[A-Za-z0-9]{60}",
    "azure": r"8Q~[A-Za-z0-9_~.-]{31}",
}
