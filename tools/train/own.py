#!/usr/bin/env python3
"""own.py SOURCE FOLDER: writes the project's own annotated pages (internal/process/extractor/testdata/corpus) as a folder of train."""
import glob
import json
import os
import shutil
import sys

KINDS = {'docs': 'documentation', 'forum': 'forum', 'shop': 'product', 'table': 'listing', 'list': 'listing'}
source, folder = sys.argv[1:]
os.makedirs(os.path.join(folder, 'html'), exist_ok=True)
with open(os.path.join(folder, 'pages.jsonl'), 'w') as out:
    for path in sorted(glob.glob(os.path.join(source, '*.json'))):
        with open(path) as f:
            page = {key.lower(): value for key, value in json.load(f).items()}
        name = 'own-' + os.path.basename(path)[:-len('.json')]
        shutil.copy(path[:-len('json')] + 'html', os.path.join(folder, 'html', name + '.html'))
        record = {'id': name, 'url': 'https://site.example/page.html', 'type': KINDS.get(page['kind'], 'article'), 'title': page['title'],
                  'author': page.get('author', ''), 'date': page.get('date', ''), 'text': page['text']}
        out.write(json.dumps(record, ensure_ascii=False) + '\n')
