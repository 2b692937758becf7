# SPDX-License-Identifier: Apache-2.0
"""What tidy needs to know of C++: text without comments and strings, functions, calls."""

import re

TOKENS = re.compile(
    r"//(?:\\\n|[^\n])*"  # line comment
    r"|/\*.*?\*/"  # block comment
    r'|R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"'  # raw string
    r'|"(?:\\.|[^"\\\n])*"'  # string
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'",  # character, not a digit separator
    re.S,
)

CLOCKS = re.compile(
    r"(?P<call>(?:::|\bstd::)?\b(?:time\s*\(\s*(?:NULL|nullptr|0|&)|"
    r"(?:clock_gettime|gettimeofday|ftime|localtime|localtime_r|timespec_get|usleep|nanosleep|"
    r"clock_nanosleep|sleep|sleep_for|sleep_until|getenv|secure_getenv|rand|srand|random|rand_r|"
    r"drand48|getrandom|getentropy|arc4random)\s*\()"
    r"|\w+_clock::now|\bClock::now\b|\bstd::random_device\b)"
)
IO = re.compile(
    r"(?P<call>(?:::|\bstd::)?\b(?:open|openat|fopen|fdopen|popen|system|fork|vfork|execve?|execvp|"
    r"posix_spawnp?|socket|connect|bind|listen|accept|unlink|unlinkat|rename|renameat|mkdir|rmdir|"
    r"mkdtemp|mkstemp|stat|lstat|fstat|mmap|ioctl|printf|fprintf|puts|fputs)\s*\("
    r"|\bstd::(?:[io]?fstream|filesystem|cout|cerr|clog|cin|j?thread|async)\b)"
)
IO_HEADERS = re.compile(
    r"^\s*#\s*include\s*<(fcntl\.h|unistd\.h|fstream|filesystem|iostream|thread|future|"
    r"sys/(?:socket|stat|mman|wait|epoll|inotify|file)\.h|netdb\.h|boost/asio[^>]*)>"
)
NAMES = re.compile(r"\b(\w*(?:Manager|Helper|Utils?)(?![a-z])\w*)")
# What stands before a name that is declared rather than called: a type.
DECLARED = re.compile(r"(?:[\w>]\s+|[\w>]\s*[&*]+\s*)$")
NOT_TYPES = re.compile(r"\b(?:return|else|do|co_return|co_await|co_yield|throw|case|and|or|not)\s+$")
CONTAINER = re.compile(r"\b(?:namespace|class|struct|union|enum)\b|\bextern\s*$")
AFTER_ARGUMENTS = re.compile(
    r"\)\s*(?:const|noexcept(?:\([^()]*\))?|override|final|mutable|try|requires\b.*|&&?|"
    r"->\s*[^{;]*|:[^:].*|\s)*$",
    re.S,
)


def blank(text):
    """`text` with comments, strings and characters blanked; every line keeps its number."""
    return TOKENS.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def line_at(text, position):
    return text.count("\n", 0, position) + 1


def includes(text):
    """(line, path) of each quoted include."""
    for match in re.finditer(r'^\s*#\s*include\s*"([^"]+)"', text, re.M):
        yield line_at(text, match.start(1)), match.group(1)


def banned_names(code):
    for match in NAMES.finditer(code):
        yield line_at(code, match.start()), match.group(1)


def is_call(code, match):
    """False for members (x.open, p->open, Type::open) and declarations (int open(...))."""
    before = code[max(0, match.start() - 80) : match.start()]
    if match.group("call").startswith(("::", "std::")):
        return not re.search(r"\w$", before)
    if re.search(r"(?:\.|->|::)\s*$", before):
        return False
    return not DECLARED.search(before) or bool(NOT_TYPES.search(before))


def impure_calls(code, deny_io):
    """Clock, environment, randomness; with `deny_io` also files, sockets, processes, threads."""
    for match in CLOCKS.finditer(code):
        call = match.group("call")
        if "sleep_" in call or "::now" in call or is_call(code, match):
            yield (
                line_at(code, match.start()),
                "banned call",
                f"{call.rstrip('(').strip()}: times, settings and chance come in as arguments",
            )
    if not deny_io:
        return
    for match in IO.finditer(code):
        if match.group("call").startswith("std::") or is_call(code, match):
            yield (line_at(code, match.start()), "banned call", f"{match.group('call').rstrip('(').strip()}: layers 0 and 1 do no I/O")
    for number, line in enumerate(code.splitlines(), 1):
        header = IO_HEADERS.match(line)
        if header:
            yield number, "banned call", f"<{header.group(1)}>: layers 0 and 1 do no I/O"


def functions(code):
    """(first line, lines) of each function body at namespace or class scope, braces included."""
    code = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: re.sub(r"[^\n]", " ", m.group()), code, flags=re.M)
    scopes = []  # [kind, start of the body]
    header = 0  # where the text before the next brace begins
    for match in re.finditer(r"[{};]", code):
        position, mark = match.start(), match.group()
        outside = all(kind == "container" for kind, _ in scopes)
        if mark == "{":
            kind = "inner"
            if outside:
                kind = scope_kind(code[header:position])
            scopes.append((kind, position))
            header = position + 1
        elif mark == "}" and scopes:
            kind, start = scopes.pop()
            if kind == "function":
                first = line_at(code, start)
                yield first, line_at(code, position) - first + 1
            header = position + 1
        elif mark == ";" and outside:
            header = position + 1


def scope_kind(header):
    """What a brace opens, by the text between it and the brace or semicolon before it."""
    header = re.sub(r"^\s*(?:public|private|protected)\s*:(?!:)", "", header)
    bare = re.sub(r"\btemplate\s*<[^{]*?>\s*(?=class|struct|union|\w)", "", header).strip()
    if bare == "" or bare.startswith(","):
        return "function"  # the body after a constructor's braced initialisers
    if bare.endswith("="):
        return "inner"  # the value of a constant
    if AFTER_ARGUMENTS.search(bare):
        return "function"
    return "container" if CONTAINER.search(bare) else "inner"
