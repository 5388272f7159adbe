"""What secrets look like in text: one pattern for keys, tokens and passwords.

A secret is known by its maker's prefix, by the words in front of it, by its place in a command line or a URL, or as a
private key. A secret of no known form in free text is not found. Work is linear in the text: every alternative begins
with a literal and has bounded or possessive repeats.
"""

import re

# What is in front of a secret and makes it one. The value after it goes, up to what ends a value. In a body the
# quotes around a key may be escaped once more (JSON in JSON).
_NAMED = (
    r"(?:api[_-]?key|apikey|a(?:ccess|ccount|uth)[_-]?key(?:[_-]?id)?|sharedaccesskey|secret[_-]?(?:access[_-]?)?key|private[_-]?key|client[_-]?secret"
    r"|(?:access|refresh|id|auth|session|security|bearer|oauth|api|bot|github|gitlab|npm|hf)[_-]?token"
    r"|password|passwd|passphrase|pwd|authorization|cookie|credential|signature|secret)"
)
# What is often no secret, and so is one only where the value looks like one: letters and digits, and not few.
_WEAK = r"(?:token|auth|secret[_-]key[_-]base|(?<=[_-])(?:key(?:[_-](?:id|data))?|pass))"
_KEYLIKE = r"[A-Za-z0-9+/=_.~-]"
# Between a name and its value: as in code, JSON, headers and forms; as in XML; and as in pairs of elements, in which
# some dialects write arguments.
_IS = r"\\{0,3}[\"']?(?:\s{0,4}(?:=>|[:=])\s{0,4}|>|</[a-z_]{1,20}>\s{0,4}<[a-z_]{1,20}>)\\{0,3}[\"']?"
_OPTION = r"(?:token|pass(?:word|wd|phrase)?|secret|auth|credentials?|(?:api-?|access-?|secret-?)key)"
_FLAG = rf"--(?:[a-z0-9]{{1,20}}-){{0,3}}{_OPTION}"
# Programs with an option for a password that is no word: `mysql -pX`, `sshpass -p X`. Other options may be between.
_ARGUMENTS = r"(?:[^\n\r;|&\\]|\\(?!n)){0,200}?\s"
_PROGRAMS = "|".join(
    rf"{program}\b{_ARGUMENTS}{option}"
    for program, option in (
        (r"(?:mysql[a-z]{0,9}|mariadb(?:-[a-z]{1,9})?|(?:7z[a-z]{0,2}|(?:un)?rar)\s{1,4}[a-z])", r"-p(?=\S)"),
        (r"(?:docker|podman|nerdctl|buildah|skopeo|helm|oc|az|cf)\s{1,4}(?:[a-z]{1,10}\s{1,4})?login", r"-p\s{1,4}"),
        (r"mongo(?:sh|dump|restore|export|import|stat|top)?", r"-p\s{1,4}"),
        (r"sshpass", r"-p\s{0,4}"),
        (r"redis-cli", r"-a\s{1,4}"),
        (r"(?:un)?zip", r"-P\s{0,4}"),
        (r"ldap[a-z]{3,7}", r"-w\s{0,4}"),
        (r"openssl", r"-pass(?:in|out)?\s{1,4}pass:"),
        (r"(?:smb|rpc)client", r"-U\s{0,4}[\"']?[^\s%\"'\\]{1,60}%"),
        (r"aws", r"aws_(?:secret_access_key|session_token)\s{1,4}"),
    )
)
# A line of .netrc (a line end may be an escape in JSON), and what SQL has in front of a password.
_BLANK = r"(?:\s|\\[nrt]){1,8}"
_NETRC = (
    rf"(?:machine{_BLANK}[^\s\\]{{1,200}}|default)(?:{_BLANK}(?:login|account){_BLANK}[^\s\\]{{1,200}}){{1,2}}"
    rf"{_BLANK}password{_BLANK}"
)
_SQL = (
    r"(?:identified\s{1,4}(?:with\s{1,4}\S{1,40}\s{1,4})?by|(?:with|encrypted|login|(?:role|user)\s{1,4}\S{1,60})\s{1,4}password)"
    r"\s{1,4}\\?(?=')"
)
# What sets a variable without "=": Dockerfiles, Windows, fish, csh.
_SET = (
    r"(?:env|setx|setenv|set\s{1,2}-[a-z]{1,4})\s{1,4}[a-z0-9_]{0,60}?(?:key|token|secret|password|passwd|pass|pwd|credentials?)"
    r"\s{1,4}\\{0,3}[\"']?"
)
# In a sentence: what a password is said to be, where it is quoted, or letters and digits that are no method's name.
_PASSWORD = (
    r"(?:(?<=_)pass|(?-i:\bPASS(?==))|password|passwd|passphrase|passcode|passwort|kennwort|wachtwoord"
    r"|contrase\u00f1a|senha|mot de passe|has\u0142o"
    r"|\u043f\u0430\u0440\u043e\u043b\u044c|\u5bc6[\u7801\u78bc]|\u30d1\u30b9\u30ef\u30fc\u30c9)"
)
_SAID = r"(?:\s{1,2}(?:is|was|to|ist|lautet|es|est)\s{1,2}|\s{0,2}[:=\uff1a]\s{0,2}|\s{0,2}[\u662f\u4e3a\u306f]\s{0,2})"
_QUOTES = "\"'`\u201c\u201d\u2018\u2019\u00ab\u00bb\u300c\u300d"
_WORD = rf"[^\s\\,;<>(){{}}\[\]{_QUOTES}]"
_METHOD = (
    r"(?i:base\d+|utf-?\d+|sha-?\d+|md\d|argon2[a-z]*|pbkdf\d|oauth\d?|\d+(?:st|nd|rd|th)"
    r"|\d+[- ]?(?:char|byte|bit|digit|letter|word)[a-z]*)(?![A-Za-z0-9])"
)
_QUOTED_SAID = rf"(?<=[{_QUOTES}])[^\r\n<>\\{_QUOTES}]{{4,80}}+(?=\\{{0,3}}[{_QUOTES}])"
_KEY_SAID = r"(?:api|access|secret|auth|refresh|bearer|private|license)[ _-](?:key|token)\s{1,2}(?:is|was|to)\s{1,2}"
# A value after a name is no secret if it is one of these: declarations of a schema, and code that reads a secret.
_IN_VALUE = r"[^\s\"'\\,;&<>{}\[\]()]"
_END = r"[\s\"'\\,;&<>{}\[\]()]"
_HARMLESS = (
    r"(?i:null|none|true|false|string|number|boolean|object|array|undefined|optional|required|str|bytes|self|your|the"
    r"|bearer|basic|os\.\S*|process\.\S*|\$\S*|getenv\S*|[a-z_]*\.[a-z_.]*)"
)
# The forms of secrets that are known by their first characters.
_FORMS = (
    r"sk-[A-Za-z0-9_-]{8,}+",  # OpenAI, Anthropic, OpenRouter and many that imitate them
    r"(?:gsk|xai|nvapi|pplx|csk|tgp|fw|r8|hf|api_org)[_-][A-Za-z0-9_-]{16,}+",
    r"AIza[A-Za-z0-9_-]{16,}+",
    r"ya29\.[A-Za-z0-9._-]{10,}+",
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{8,}+",
    r"(?:gh[oprsu]|github_pat|npm)_[A-Za-z0-9_]{16,}+",
    r"(?:glpat-|pypi-|dop_v1_)[A-Za-z0-9_-]{16,}+",
    r"(?:xox[a-eoprs]|xapp)-[A-Za-z0-9-]{8,}+",
    r"(?:dckr_pat|shp(?:at|ca|pa|ss))_[A-Za-z0-9_-]{16,}+",
    r"hv[bsr]\.[A-Za-z0-9_-]{16,}+",  # Vault
    r"SG\.[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+",  # SendGrid
    r"AGE-SECRET-KEY-1[A-Z0-9]{16,}+",
    r"(?:sk|rk|pk|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,}+",  # Stripe
    r"eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?",  # JSON Web Tokens (RFC 7519)
    r"org-[A-Za-z0-9]{8,}+",
    r"GOCSPX-[A-Za-z0-9_-]{16,}+",
    r"gl(?:rt|ptt|dt|cbt|soat|ft|agent)-[A-Za-z0-9_-]{16,}+",  # GitLab, beside `glpat-`
    r"(?:lin_api|ntn|secret|figd|sntry[su]|lsv2_(?:pt|sk)|pscale_(?:pw|tkn|oauth)|sbp)_[A-Za-z0-9_-]{20,}+",
    r"dapi[0-9a-f]{32}(?:-\d)?",  # Databricks
    r"dp\.(?:pt|st|sa|ct)\.[A-Za-z0-9]{20,}+",  # Doppler
    r"(?:PMAK|tskey|xkeysib|ATATT3)[A-Za-z0-9_=-]{16,}+",  # Postman, Tailscale, Brevo, Atlassian
    r"sq0[a-z]{3}-[A-Za-z0-9_-]{16,}+",  # Square
    r"key-[0-9a-f]{32}",  # Mailgun
    r"(?:SK|AC)[0-9a-f]{32}",  # Twilio
    r"(?:bot)?\d{8,10}:(?:AA[A-Za-z0-9_-]{30,}+|[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-]))",  # Telegram
    r"pat[A-Za-z0-9]{14}\.[0-9a-f]{32,}+",  # Airtable
    r"gAAAAA[A-Za-z0-9_-]{24,}+=*",  # Fernet
)
# In an address these are secrets that elsewhere are words; `&` may be an entity or an escape there.
_IN_QUERY = (
    r"(?:[?&]|\\u0026)(?:amp;)?(?i:(?:key|token|auth|sig|signature|secret|pass|jwt|sas|x-(?:amz|goog)-(?:signature|credential"
    r"|security-token))=|code=(?=[^\s\"'\\<>&#]{12}))"
)
# Where a word begins; in JSON within JSON the letter of an escape may come before it.
_BEGINS = r"(?:\b|(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4}))"
SECRET = re.compile(
    # private keys, armoured (RFC 7468); a line end may be an escape in JSON
    r"-----BEGIN (?:[A-Z]{1,10} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!----END))*+(?:-----END [A-Z ]{1,40}-----)?"
    rf"|(?P<query>{_IN_QUERY})[^\s\"'\\<>&#]{{4,}}+"
    rf"|{_BEGINS}(?:{'|'.join(_FORMS)}"
    r"|(?P<before>(?i:bearer|basic|digest|negotiate)[ \t]{1,4}|https://hooks\.slack\.com/[a-z]{1,20}/"
    r"|https://discord(?:app)?\.com/api/webhooks/)"
    r"(?=[A-Za-z0-9+/=_.~-]{0,60}[0-9A-Z=_.~/+])[A-Za-z0-9+/=_.~-]{8,}+"
    r"|(?P<scheme>[a-z][a-z0-9+.-]{1,12}://)[^\s/@\"'\\<>]{1,200}@"
    rf"|(?=[7abcdhlmnoprsuz])(?:(?P<program>(?:{_PROGRAMS})\\{{0,3}}[\"']?)|(?P<netrc>{_NETRC}))"
    rf"(?!-|{_HARMLESS}(?:{_END}|$))(?:(?<=[\"'])[^\"'\\\r\n<>]{{3,}}+|[^\s\"'\\<>|;&]{{3,}}+)"
    rf"|(?=[ielruwIELRUW])(?P<sql>(?i:{_SQL})')[^'\r\n<>]{{3,}}+"
    rf"|(?=[esES])(?P<set>(?i:{_SET}))(?!-|{_HARMLESS}(?:{_END}|$)){_IN_VALUE}{{4,}}+"
    rf"|(?=[aslrbpASLRBP])(?P<key>(?i:{_KEY_SAID})\\{{0,3}}[{_QUOTES}]?)(?!{_METHOD})"
    rf"(?={_KEYLIKE}{{0,60}}[0-9])(?={_KEYLIKE}{{0,60}}[A-Za-z]){_KEYLIKE}{{10,}}+)"
    # all the cookies of a line, and the value after a scheme that is none of the above
    r"|(?P<jar>(?i:cookie)\\{0,3}[\"']?\s{0,4}[:=]\s{0,4}\\{0,3}[\"']?)"
    r"(?=[^\s=;\"'\\<>]{1,100}=)[^\r\n\"'\\<>]{4,}+"
    # a value after a name; a quoted one up to its quote. A private key is found by its own mark
    rf"|(?P<name>(?i:{_NAMED}){_IS}(?i:(?:token|apikey|bearer|basic|digest|negotiate)[ \t]{{1,4}})?)"
    rf"(?!-----BEGIN|{_HARMLESS}(?:{_END}|$))(?:(?<=[\"'])[^\"'\\\r\n<>]{{4,}}+|{_IN_VALUE}{{4,}}+)"
    rf"|(?P<weak>(?i:{_WEAK}){_IS})(?=[A-Za-z+/=_.~-]{{0,60}}[0-9])(?=[0-9+/=_.~-]{{0,60}}[A-Za-z]){_KEYLIKE}{{10,}}+"
    # on a command line: an option and its value, and the user and password of curl
    rf"|(?P<flag>{_FLAG}[ =]\\{{0,3}}[\"']?)(?!-|{_HARMLESS}(?:{_END}|$)){_IN_VALUE}{{4,}}+"
    r"|(?P<user>(?:(?<=\s)-u|--(?:proxy-)?user)[ =]?\\{0,3}[\"']?)(?![a-z]{2,8}://|\d+:\d+(?!\S))"
    r"[^\s:\"'\\]{1,100}:[^\s\"'\\]{3,}+"
    rf"|(?P<short>(?<![A-Za-z0-9])(?i:pw)\\{{0,3}}[\"']?"
    rf"(?:=|\s{{0,2}}[:=]\s{{0,2}}(?=\\{{0,3}}[\"']?{_IN_VALUE}{{0,60}}[0-9]))\\{{0,3}}[\"']?)"
    rf"(?!-|{_HARMLESS}(?:{_END}|$)){_IN_VALUE}{{4,}}+"
    rf"|(?P<variable>(?<=[A-Z0-9]_)PASS=[\"']?)(?!{_HARMLESS}(?:{_END}|$)){_IN_VALUE}{{4,}}+"
    rf"|(?=[pkwcsmhPKWCSMH\u0080-\uffff])(?P<said>(?i:{_PASSWORD}){_SAID}\\{{0,3}}[{_QUOTES}]?)(?!{_METHOD}|{_HARMLESS}(?:{_END}|$))"
    rf"(?:{_QUOTED_SAID}|(?={_WORD}{{0,60}}[0-9])(?={_WORD}{{0,60}}[^\W\d_]){_WORD}{{4,}}+)"
)
# The groups of `SECRET` that are in front of a secret and stay. `scheme` is one, too, with an "@" after the secret.
GROUPS_BEFORE = tuple(group for group in SECRET.groupindex if group != "scheme")
# A key of a JSON object whose value is a secret.
SECRET_KEY = re.compile(rf"(?i:(?:.*[_-])?(?:{_NAMED}|pw))")
