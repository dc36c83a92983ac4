"""articles.py MODULES FOLDER prints a line {id, url, path, expected, with, without} for each page of an article.

MODULES is the cache of Go modules, FOLDER has unpacked npm packages.
"""
import glob
import json
import os
import re
import sys

MODULES, FOLDER = sys.argv[1:3]
STRING = r'"(?:[^"\\]|\\.)*"|`[^`]*`'
SMALL = re.compile(r'\d\d\d|.*(metadata|base-url|comment-inside|keep|remove|replace|style-tags|svg|rtl|qq|hidden|normalize|ol|parsely'
                   r'|reordering|schema-org|title|videos|mathjax|missing|lazy|links-in)')
seen = set()


def unquoted(s):
    return json.loads(s) if s.startswith('"') else s[1:-1]


def write(source, path, url='', **more):
    name = os.path.basename(path)
    if not os.path.exists(path) or name in seen or url and url in seen:
        return
    seen.update([name, url] if source != 'readeck' else [url])
    ident = re.sub(r'\.html?$', '', more.pop('name', name))
    print(json.dumps(dict(id=source + '_' + ident, url=url, path=os.path.abspath(path), **more)))


def strings(field, entry):
    m = re.search(field + r':\s*\[\]string\{((?:\s*(?:%s)\s*,?)*)\}' % STRING, entry)
    return [' '.join(unquoted(s).split()) for s in re.findall(STRING, m.group(1))] if m else []


def trafilatura(folder):
    source = open(folder + '/scripts/comparison/data.go').read()
    for entry in re.split(r'\n\t(?="http[^\n]*": \{\n)', source)[1:]:
        url = re.match(STRING, entry).group(0)
        file = re.search(r'File:\s*(%s)' % STRING, entry)
        if file:
            write('trafilatura', folder + '/test-files/comparison/' + unquoted(file.group(1)), unquoted(url),
                  **{'with': strings('With', entry), 'without': strings('Without', entry)})
    for path in sorted(glob.glob(folder + '/test-files/simple/*.html') + glob.glob(folder + '/test-files/mock/*.html')):
        if os.path.getsize(path) > 5000:
            write('trafilatura', path)


def htmldate(folder):
    for file, parts in (('data-default.go', ['comparison', 'mock']), ('data-mediacloud.go', ['mediacloud'])):
        source = open(folder + '/scripts/comparison/' + file).read()
        for m in re.finditer(r'URL:\s*(%s),\s*File:\s*(%s)' % (STRING, STRING), source):
            for part in parts:
                write('htmldate', folder + '/test-files/%s/%s' % (part, unquoted(m.group(2))), unquoted(m.group(1)))


def readeck(folder):
    for case in sorted(glob.glob(folder + '/test-pages/*')):
        path = case + '/source.html'
        if SMALL.match(os.path.basename(case)) or not os.path.exists(path) or os.path.getsize(path) < 3000:
            continue
        m = re.search(r'rel="canonical"[^>]*href="([^"]+)|property="og:url"[^>]*content="([^"]+)', open(path, errors='replace').read())
        write('readeck', path, (m.group(1) or m.group(2)) if m else '', expected=os.path.abspath(case + '/expected.html'),
              name=os.path.basename(case))


def unfluff(folder):
    for path in sorted(glob.glob(folder + '/fixtures/*.html')):
        try:
            url = json.load(open(path[:-4] + 'json')).get('url', '')
        except (OSError, ValueError):
            url = ''
        write('unfluff', path, url)


trafilatura(glob.glob(MODULES + '/github.com/markusmobius/go-trafilatura@*')[0])
htmldate(glob.glob(MODULES + '/github.com/markusmobius/go-htmldate@*')[0])
readeck(glob.glob(MODULES + '/codeberg.org/readeck/go-readability/v2@*')[0])
unfluff(FOLDER + '/unfluff/package')
for path in sorted(glob.glob(MODULES + '/github.com/advancedlogic/!go!ose@*/sites/*.html')):
    write('goose', path)
for path in sorted(glob.glob(FOLDER + '/readability-js/package/test/fixtures/*.html')):
    write('readabilityjs', path)
