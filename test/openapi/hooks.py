"""What the API tester has to know of this service: texts of our own formats, data in every format, and the names of what is in the lake.

LAKE_TESTER: a JSON file with pools, branches, commits, objects, queries, filters, and samples of data by media type (base64). LAKE_TESTER_COUNTS: where the figures of the run go.
"""
import atexit
import base64
import gzip
import json
import os
import re
import zlib

import schemathesis
from hypothesis import strategies as st

with open(os.environ['LAKE_TESTER']) as file:
    LAKE = json.load(file)

HEX = re.compile(r'^0x[0-9a-fA-F]{40}$')
# Operations whose ids are bytes: without quotes in SUP.
BYTE_IDS = ('/compact', '/vector')
# The tester keeps one strategy for a media type, and control bodies in SUP are made from their schemas.
SUP_DATA = 'application/x-sup-data'

words = st.text(alphabet=st.characters(codec='utf-8', exclude_categories=('Cs', 'Cc')), max_size=12)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False), words,
)
values = st.recursive(scalars, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(words, inner, max_size=4)), max_leaves=8)
records = st.dictionaries(st.sampled_from(['ts', 'Title', 'k', 'level', 'x', 'é', '']), values, min_size=1, max_size=4)


def sup(value, bare_ids=False):
    """JSON is SUP, save for the escapes of surrogates."""
    if isinstance(value, dict):
        return '{' + ','.join(sup(k) + ':' + sup(v, bare_ids) for k, v in value.items()) + '}'
    if isinstance(value, (list, tuple)):
        return '[' + ','.join(sup(v, bare_ids) for v in value) + ']'
    if bare_ids and isinstance(value, str) and HEX.match(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def cell(value):
    text = '' if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return '"' + text.replace('"', '""') + '"'


def table(rows):
    return '\n'.join(','.join(cell(v) for v in row) for row in rows) + '\n'


literals = st.one_of(st.integers(-1000, 10**6).map(str), st.sampled_from(['"info"', 'true', 'null', '2026-11-21T00:00:00Z', '1.5', '10.0.0.1', '|{"a":1}|', '[1,2]']))
fields = st.sampled_from(['k', 'ts', 'level', 'Title', 'a.b', 'this["odd name"]'])
filters = st.one_of(
    st.sampled_from(LAKE['filters']),
    st.tuples(fields, st.sampled_from(['==', '!=', '<', '<=', '>', '>=']), literals).map(lambda t: ' '.join(t)),
)
sources = st.sampled_from(['from ' + name for name in LAKE['sources']])
tables = st.sampled_from(['from ' + name for name in LAKE['tables']])
# Steps that leave the shape of rows open: what a field is, is known when the query runs.
steps = st.one_of(
    filters.map(lambda f: 'where ' + f), st.integers(0, 20).map(lambda n: f'head {n}'), fields.map(lambda f: f'sort {f} desc'), literals.map(lambda l: f'put extra:={l}'), st.sampled_from(['uniq', 'pass', 'tail 2', 'skip 1']),
)
ends = st.one_of(
    fields.map(lambda f: f'count() by key:={f}'), fields.map(lambda f: f'values {f}'), st.sampled_from(['fuse', 'cut k, ts', 'drop k', 'count(), sum(k), avg(k), union(level)', 'fork ( head 1 ) ( tail 1 )', 'values typeof(this)']),
)
piped = st.tuples(tables, st.lists(steps, max_size=3), st.lists(ends, max_size=1)).map(lambda t: ' | '.join([t[0], *t[1], *t[2]]))
queries = st.one_of(st.sampled_from(LAKE['queries']), piped, st.tuples(sources, st.integers(0, 5)).map(lambda t: f'{t[0]} | head {t[1]}'))

schemathesis.openapi.format('superql', queries)
schemathesis.openapi.format('superql-filter', filters)
schemathesis.openapi.format('sup', values.map(sup))
schemathesis.openapi.format('lake-object', st.one_of(st.sampled_from(LAKE['compactable']), st.from_regex(r'0x[0-9a-f]{40}', fullmatch=True)))
schemathesis.openapi.format('lake-id', st.one_of(st.sampled_from(LAKE['commits'] + LAKE['objects']), st.from_regex(r'0x[0-9a-f]{40}', fullmatch=True)))


def samples(media_type):
    return st.sampled_from([base64.b64decode(text) for text in LAKE['samples'][media_type]])


schemathesis.openapi.media_type(SUP_DATA, st.one_of(samples('application/x-sup'), st.lists(st.one_of(records, values), min_size=1, max_size=3).map(lambda rows: '\n'.join(map(sup, rows)).encode())))
schemathesis.openapi.media_type('text/csv', st.one_of(samples('text/csv'), st.lists(st.tuples(scalars, scalars), min_size=1, max_size=3).map(lambda rows: table([('k', 'ts'), *rows]).encode())))
schemathesis.openapi.media_type('application/x-line', st.one_of(samples('application/x-line'), st.lists(words, min_size=1, max_size=3).map(lambda lines: ('\n'.join(lines) + '\n').encode())))
for media_type in LAKE['samples']:
    if media_type not in ('application/x-sup', 'text/csv', 'application/x-line', 'application/json'):
        schemathesis.openapi.media_type(media_type, samples(media_type))

CODINGS = {'gzip': gzip.compress, 'x-gzip': gzip.compress, 'deflate': zlib.compress, 'identity': lambda body: body}


def codings_of(headers):
    text = next((value for name, value in (headers or {}).items() if name.lower() == 'content-encoding'), '')
    names = [name.strip() for name in text.split(',') if name.strip()] if isinstance(text, str) else []
    return names if all(name in CODINGS for name in names) else []


def coded(context, body):
    """The body with the content codings that the request claims."""
    for name in codings_of(context.case.headers):
        body = CODINGS[name](body)
    return body


@schemathesis.serializer('application/x-sup')
def serialize_sup(context, value):
    bare = context.case.operation.path.endswith(BYTE_IDS)
    return coded(context, value if isinstance(value, bytes) else sup(value, bare).encode('utf-8', 'replace'))


@schemathesis.serializer('application/json')
def serialize_json(context, value):
    return coded(context, value if isinstance(value, bytes) else json.dumps(value).encode())


@schemathesis.serializer(SUP_DATA, 'text/csv', 'application/x-line', *[name for name in LAKE['samples'] if name not in ('application/x-sup', 'application/json')])
def serialize_data(context, value):
    return coded(context, value if isinstance(value, bytes) else str(value).encode('utf-8', 'replace'))


def whole(value):
    """JSON Schema takes 12.0 for an integer; the service does not, as the reference does not."""
    if isinstance(value, dict):
        return {name: int(item) if name in ('thresh', 'seek_stride') and isinstance(item, float) and item.is_integer() else item for name, item in value.items()}
    return value


@schemathesis.hook
def map_body(context, body):
    return whole(body)


@schemathesis.hook
def map_headers(context, headers):
    """Codings that Python has not are replaced by one that it has. Parts of JSON are no JSON."""
    headers = {name: value for name, value in (headers or {}).items() if name not in ('Range', 'If-Range')} or headers
    # An event that does not come is waited for: a 504 in the end.
    if headers and re.fullmatch('[0-9]+', str(headers.get('Lake-After'))):
        headers = {**headers, 'Lake-After': '0'}
    if headers and isinstance(headers.get('Content-Encoding'), str):
        headers = {**headers, 'Content-Encoding': re.sub(r'\b(br|zstd)\b', 'gzip', headers['Content-Encoding'])}
    return headers


@schemathesis.hook
def map_query(context, query):
    """Addresses that answer with rows: in formats that hold any, of pools and branches that are there. Loads of CSV: as the samples are written."""
    operation = context.operation.definition.raw.get('operationId') if context.operation is not None else None
    if operation == 'load' and query:
        said = {'csv.delim', 'csv.quote', 'csv.escape', 'csv.comment', 'csv.skip', 'csv.header', 'types'}
        return {name: value for name, value in query.items() if name not in said}
    if operation not in ('readQuery', 'branchData') or not query:
        return query
    kept = {name: value for name, value in query.items() if name not in ('branch', 'pool')}
    if kept.get('format') in ('arrow', 'arrows', 'csv', 'csup', 'parquet', 'tsv', 'zeek', 'line', 'table'):
        kept['format'] = 'json'
    return kept


@schemathesis.deserializer('application/x-sup', 'application/x-jsup', 'application/x-zjson', 'application/x-line', 'application/x-ndjson', 'application/x-zeek', 'text/csv', 'text/tab-separated-values', 'text/event-stream', 'text/html')
def deserialize_text(context, response):
    return response.content.decode('utf-8')


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Control bodies are sent as JSON or SUP; data in every format."""
    for path in raw_schema['paths'].values():
        for operation in path.values():
            content = operation.get('requestBody', {}).get('content') if isinstance(operation, dict) else None
            if content is None:
                continue
            if operation['operationId'] == 'load':
                content[SUP_DATA] = {'schema': {'type': 'string'}}
                del content['application/x-sup']
                for media_type in content:
                    # Of a media type with a strategy, the tester takes examples as bytes alone.
                    if media_type != 'application/json':
                        content[media_type].pop('examples', None)
            else:
                for media_type in list(content):
                    if media_type not in ('application/json', 'application/x-sup'):
                        del content[media_type]


@schemathesis.hook
def flatmap_path_parameters(context, path_parameters):
    """Half of the names in paths are those of things that are there."""
    names = {'pool': LAKE['pools'], 'branch': LAKE['branches'], 'child': LAKE['branches'] + LAKE['tags'], 'tag': LAKE['tags'], 'revision': LAKE['branches'] + LAKE['tags'] + LAKE['commits'], 'id': ['report-42']}
    # What is deleted or renamed is not there for the others.
    if context.operation is not None and context.operation.definition.raw.get('operationId') in ('deletePool', 'renamePool'):
        names = {'pool': LAKE['spare']}
    chosen = {name: st.sampled_from(names[name]) for name in path_parameters or {} if name in names}
    if not chosen:
        return st.just(path_parameters)
    return st.one_of(st.just(path_parameters), st.fixed_dictionaries(chosen).map(lambda found: {**path_parameters, **found}))


ACCEPTED = ['application/json'] * 5 + ['application/x-sup', 'application/x-bsup', 'application/x-jsup', 'application/x-zjson', 'application/x-ndjson', '*/*']


def spare(case):
    """What all queries read stays: links lead anywhere, and two operations would end it."""
    operation, parameters = case.operation.definition.raw.get('operationId'), case.path_parameters or {}
    if operation in ('deletePool', 'renamePool') and parameters.get('pool') in LAKE['kept']:
        parameters['pool'] = 'none-of-ours'
    if operation == 'deleteTag' and parameters.get('pool') in LAKE['kept'] and parameters.get('tag') in LAKE['tags']:
        parameters['tag'] = 'none-of-ours'
    if operation in ('deleteBranch', 'resetBranch') and parameters.get('pool') in LAKE['kept'] and parameters.get('branch') in LAKE['branches']:
        parameters['branch'] = 'none-of-ours'


@schemathesis.hook
def before_call(context, case, kwargs):
    spare(case)
    headers = case.headers
    if headers is None:
        return
    # Which format is accepted depends on the case alone, so that it can be run again.
    if 'Accept' not in headers:
        responses = case.operation.definition.raw['responses']
        offered = responses.get('200', {}).get('content', {})
        digest = zlib.crc32(repr((case.path_parameters, case.query, case.body)).encode('utf-8', 'replace'))
        # Links are followed out of JSON.
        followed = '$response.body' in json.dumps(responses.get('200', {}).get('links', {}))
        if 'application/x-bsup' in offered:
            headers['Accept'] = 'application/json' if followed else ACCEPTED[digest % len(ACCEPTED)]
    if case.media_type == SUP_DATA:
        headers['Content-Type'] = 'application/x-sup'


COUNTS = {'requests': 0, 'statuses': {}, 'operations': {}}


@schemathesis.hook
def after_call(context, case, response):
    COUNTS['requests'] += 1
    status = str(response.status_code)
    COUNTS['statuses'][status] = COUNTS['statuses'].get(status, 0) + 1
    label = case.operation.label
    by_status = COUNTS['operations'].setdefault(label, {})
    by_status[status] = by_status.get(status, 0) + 1


@atexit.register
def write_counts():
    with open(os.environ['LAKE_TESTER_COUNTS'], 'w') as file:
        json.dump(COUNTS, file)
