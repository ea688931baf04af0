"""Words for a password, a key and a code in languages that are not written in ASCII's letters.

Stems: what inflection adds follows.
"""

from __future__ import annotations

PASSWORDS = (
    *("парол", "ПАРОЛ", "кодовое слово", "лозинк", "шифра"),  # Russian, Ukrainian, Bulgarian, Serbian
    *("密码", "密碼", "口令", "パスワード", "合言葉", "비밀번호", "패스워드", "암호", "비번", "暗号"),
    *("كلمة المرور", "كلمة السر", "كلمة مرور", "كلمة سر", "رمز المرور", "رمز عبور", "گذرواژه", "کلمه عبور", "پاس ورڈ"),
    *("סיסמה", "סיסמא", "הסיסמה", "पासवर्ड", "कूटशब्द", "পাসওয়ার্ড", "கடவுச்சொல்", "รหัสผ่าน", "κωδικ", "συνθηματικ"),
    *("hasł", "lösenord", "lösen", "şifre", "parolă", "jelszó", "mật khẩu", "slaptažod", "lykilorð", "clé d'accès"),
    *("pääsysana", "გასაღებ", "პაროლ", "գաղտնաբառ"),
)
KEYS = (
    *(
        "ключ",
        "токен",
        "секрет",
        "密钥",
        "密鑰",
        "令牌",
        "秘钥",
        "トークン",
        "APIキー",
        "秘密鍵",
        "シークレット",
        "토큰",
        "API 키",
    ),
    *("مفتاح", "التوكن", "מפתח", "טוקן", "कुंजी", "टोकन", "κλειδί", "schlüssel", "clé", "clé secrète", "kľúč", "klíč"),
)
CODES = (
    *("пин-код", "пинкод", "пин", "код подтверждения", "код из смс", "проверочный код", "одноразовый код"),
    *("验证码", "驗證碼", "动态码", "認証コード", "確認コード", "暗証番号", "인증번호", "인증 코드", "보안 코드"),
    *("رمز التحقق", "الرقم السري", "رمز التأكيد", "קוד אימות", "सत्यापन कोड", "ओटीपी", "code de vérification"),
    *("código de verificación", "código de verificação", "bestätigungscode", "doğrulama kodu"),
    *("κωδικός επαλήθευσης", "mã xác nhận", "mã xác minh", "รหัส otp", "engångskod", "säkerhetskod"),
)


def needles() -> tuple[str, ...]:
    """Return what each of the words has in whatever case it begins."""
    found = []
    for word in (*PASSWORDS, *KEYS, *CODES):
        rest = word[1:]
        found += [word, word[0].upper() + rest] if word[0] != word[0].upper() and rest.isascii() else [word]
        if word[0] != word[0].upper() and not rest.isascii():
            found[-1] = rest
    return tuple(dict.fromkeys(found))
