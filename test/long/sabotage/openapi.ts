/**
 * The safeguards of OpenAPI documents: every operation is covered, none is left open, and no
 * refusal is incomplete.
 */
import type { Safeguard } from './safeguard.ts';

const OPENAPI = 'test/tools/openapi';
const ANSWERS = 'test/examples/openapi-answers.test.ts';

export const DOCUMENTS: readonly Safeguard[] = [
  {
    name: 'openapi: rejects differences',
    file: 'src/tools/openapi/secure-document.ts',
    text: '  assertNoDifference(comparison);\n',
    instead: '',
    tests: OPENAPI,
  },
  {
    name: 'openapi: rejects what the document lacks',
    file: 'src/tools/openapi/secure-document.ts',
    text: '[...differing, ...lacking]',
    instead: '[...differing]',
    tests: OPENAPI,
  },
  {
    name: 'openapi: an optional key does not count as a key',
    file: 'src/tools/openapi/comparison.ts',
    text: 'named.some((names) => names.length === 0)',
    instead: 'false',
    tests: OPENAPI,
  },
  {
    name: 'openapi: other alternatives conflict',
    file: 'src/tools/openapi/comparison.ts',
    text: '!Array.isArray(security) || security.length !== 1',
    instead: '!Array.isArray(security)',
    tests: OPENAPI,
  },
  {
    name: 'openapi: too few scopes conflict',
    file: 'src/tools/openapi/comparison.ts',
    text: 'wanted.every((scope) => listed.includes(scope))',
    instead: 'true',
    tests: OPENAPI,
  },
  {
    name: 'openapi: a misspelt scheme secures nothing',
    file: 'src/tools/openapi/comparison.ts',
    text: ' && Object.hasOwn(schemes, name)',
    instead: '',
    tests: OPENAPI,
  },
  {
    name: 'openapi: an operation elsewhere is not here',
    file: 'src/tools/openapi/comparison.ts',
    text: 'assert(stale === undefined, instead);',
    instead: 'void instead;',
    tests: OPENAPI,
  },
  {
    name: 'openapi: rejects paths defined elsewhere',
    file: 'src/tools/openapi/document.ts',
    text: "!Object.hasOwn(item, '$ref')",
    instead: 'true',
    tests: OPENAPI,
  },
  {
    name: 'openapi: rejects unknown methods',
    file: 'src/tools/openapi/document.ts',
    text: 'assert(isKnown,',
    instead: 'assert(true,',
    tests: OPENAPI,
  },
  {
    name: 'openapi: writes no scopes into a 3.0 document',
    file: 'src/tools/openapi/document.ts',
    text: String.raw`/^"3\.1\.\d+"$/`,
    instead: String.raw`/^"3\.\d+\.\d+"$/`,
    tests: OPENAPI,
  },
  {
    name: 'openapi: does not modify the document',
    file: 'src/tools/openapi/document.ts',
    text: 'copy = JSON.parse(JSON.stringify(document));',
    instead: 'copy = document;',
    tests: OPENAPI,
  },
  {
    name: 'openapi: shares no component with the caller',
    file: 'src/tools/openapi/secure-document.ts',
    text: 'return copyOf(copy, WHAT) as Document;',
    instead: 'return copy as Document;',
    tests: OPENAPI,
  },
  {
    name: 'openapi: rejects components with its names',
    file: 'src/tools/openapi/secure-document.ts',
    text: 'assert(isFree,',
    instead: 'assert(true,',
    tests: OPENAPI,
  },
  {
    name: 'openapi: rejects a scheme of another type',
    file: 'src/tools/openapi/secure-document.ts',
    text: 'assert(isBearer,',
    instead: 'assert(true,',
    tests: OPENAPI,
  },
  {
    name: "openapi: keeps the document's own responses",
    file: 'src/tools/openapi/refusals.ts',
    text: 'responses[status] ?? responses[range] ?? byDefault',
    instead: 'responses[status]',
    tests: OPENAPI,
  },
  {
    name: 'openapi: requires no header that only refusals have',
    file: 'src/tools/openapi/refusals.ts',
    text: '{ ...(header as Json), required: false }',
    instead: '{ ...(header as Json) }',
    tests: OPENAPI,
  },
  {
    name: 'openapi: escapes Markdown',
    file: 'src/tools/escape.ts',
    text: String.raw`.replace(MARKS, '\\$&')`,
    instead: '',
    tests: OPENAPI,
  },
  {
    name: 'openapi: describes refusals as they are answered',
    file: 'src/tools/openapi/refusals.ts',
    text: "entity_forbidden: new AccessError('entity_forbidden', 'entity_not_accessible')",
    instead: "entity_forbidden: new AccessError('not_found', 'no_such_key')",
    tests: ANSWERS,
  },
  {
    name: 'openapi: lists the codes of refusals',
    file: 'src/tools/openapi/refusals.ts',
    text: "[...codesBut('missing_credentials'), 'invalid_input']",
    instead: "[...codesBut('invalid_token'), 'invalid_input']",
    tests: ANSWERS,
  },
];
