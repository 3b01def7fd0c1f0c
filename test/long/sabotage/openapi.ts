/** The safeguards of OpenAPI documents: nothing in them is passed over, opened or half said. */
import type { Safeguard } from './safeguard.ts';

const OPENAPI = 'test/openapi';
const ANSWERS = 'test/examples/openapi-answers.test.ts';

export const DOCUMENTS: readonly Safeguard[] = [
  {
    name: 'openapi: differences are refused',
    file: 'src/openapi/secure-document.ts',
    text: '  assertNoDifference(comparison);\n',
    instead: '',
    tests: OPENAPI,
  },
  {
    name: 'openapi: what the document lacks is refused',
    file: 'src/openapi/secure-document.ts',
    text: '[...differing, ...lacking]',
    instead: '[...differing]',
    tests: OPENAPI,
  },
  {
    name: 'openapi: an optional key is not a key',
    file: 'src/openapi/comparison.ts',
    text: 'named.some((names) => names.length === 0)',
    instead: 'false',
    tests: OPENAPI,
  },
  {
    name: 'openapi: other alternatives conflict',
    file: 'src/openapi/comparison.ts',
    text: '!Array.isArray(security) || security.length !== 1',
    instead: '!Array.isArray(security)',
    tests: OPENAPI,
  },
  {
    name: 'openapi: too few scopes conflict',
    file: 'src/openapi/comparison.ts',
    text: 'wanted.every((scope) => listed.includes(scope))',
    instead: 'true',
    tests: OPENAPI,
  },
  {
    name: 'openapi: a misspelt scheme secures nothing',
    file: 'src/openapi/comparison.ts',
    text: ' && Object.hasOwn(schemes, name)',
    instead: '',
    tests: OPENAPI,
  },
  {
    name: 'openapi: an operation elsewhere is not here',
    file: 'src/openapi/comparison.ts',
    text: 'assert(stale === undefined, instead);',
    instead: 'void instead;',
    tests: OPENAPI,
  },
  {
    name: 'openapi: paths that are written elsewhere',
    file: 'src/openapi/document.ts',
    text: "!Object.hasOwn(item, '$ref')",
    instead: 'true',
    tests: OPENAPI,
  },
  {
    name: 'openapi: methods that nobody knows',
    file: 'src/openapi/document.ts',
    text: 'assert(isKnown,',
    instead: 'assert(true,',
    tests: OPENAPI,
  },
  {
    name: 'openapi: 3.0 has no place for scopes',
    file: 'src/openapi/document.ts',
    text: String.raw`/^"3\.1\.\d+"$/`,
    instead: String.raw`/^"3\.\d+\.\d+"$/`,
    tests: OPENAPI,
  },
  {
    name: 'openapi: the document is not changed',
    file: 'src/openapi/document.ts',
    text: 'copy = JSON.parse(JSON.stringify(document));',
    instead: 'copy = document;',
    tests: OPENAPI,
  },
  {
    name: 'openapi: our components are copied',
    file: 'src/openapi/secure-document.ts',
    text: 'return copyOf(copy, WHAT) as Document;',
    instead: 'return copy as Document;',
    tests: OPENAPI,
  },
  {
    name: 'openapi: components of our names',
    file: 'src/openapi/secure-document.ts',
    text: 'assert(isFree,',
    instead: 'assert(true,',
    tests: OPENAPI,
  },
  {
    name: 'openapi: a scheme of another type',
    file: 'src/openapi/secure-document.ts',
    text: 'assert(isBearer,',
    instead: 'assert(true,',
    tests: OPENAPI,
  },
  {
    name: 'openapi: what a document says of a status stays',
    file: 'src/openapi/refusals.ts',
    text: 'responses[status] ?? responses[range] ?? byDefault',
    instead: 'responses[status]',
    tests: OPENAPI,
  },
  {
    name: 'openapi: marks of Markdown are escaped',
    file: 'src/openapi/scope-reference.ts',
    text: String.raw`.replace(MARKS, '\\$&')`,
    instead: '',
    tests: OPENAPI,
  },
  {
    name: 'openapi: refusals are described as they are answered',
    file: 'src/openapi/refusals.ts',
    text: "entity_forbidden: new AccessError('entity_forbidden', 'entity_not_accessible')",
    instead: "entity_forbidden: new AccessError('not_found', 'no_such_key')",
    tests: ANSWERS,
  },
  {
    name: 'openapi: the codes of refusals',
    file: 'src/openapi/refusals.ts',
    text: "[...codesBut('missing_credentials'), 'invalid_input']",
    instead: "[...codesBut('invalid_token'), 'invalid_input']",
    tests: ANSWERS,
  },
];
