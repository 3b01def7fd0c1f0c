/** Adds the security requirements of the policy to an OpenAPI document. */
import { assert, isObject, readFields } from '../../core/input.js';
import { createKeyFormat, SECRET_LENGTH } from '../../core/key.js';
import { toJson } from '../escape.js';
import type { Comparison, Kind } from './comparison.js';
import { compare, readComparisonInput } from './comparison.js';
import type { DiffOptions } from './diff-operations.js';
import type { Json } from './document.js';
import { copyOf, objectAt, readDocument, show } from './document.js';
import { createRefusals, isSame } from './refusals.js';
import { describeScope, showName } from './scope-reference.js';
import type { ScopeTable } from './scope-table.js';
import { scopeTable } from './scope-table.js';

/** The options of `secureDocument`. */
export interface SecureDocumentOptions<Operation extends string = string>
  extends DiffOptions<Operation> {
  /** The prefix of the keys, for `bearerFormat`. */
  readonly prefix?: string | undefined;
  /** The realm of the challenges, as in `toResponse`. Without it, challenges have no examples. */
  readonly realm?: string | undefined;
}

const WHAT = 'secureDocument';
const FIELDS = ['policy', 'prefix', 'realm', 'schemeName', 'operationOf', 'elsewhere'] as const;

/**
 * Returns a copy of an OpenAPI 3.1 document with the security of the policy: the bearer scheme, the
 * scopes of each operation, and the responses 400, 401, 403 and 503 of its guard. Securing the
 * result again changes nothing.
 *
 * If the document already describes such a status, directly, by range or by default, the response
 * becomes either of the two. An existing bearer scheme of that name stays unchanged. Operations
 * whose own `security` is `[]` stay open; `diffOperations` lists them.
 *
 * Not checked: webhooks and callbacks, which the service sends itself; whether the routes are
 * guarded; the rest of the document.
 *
 * @param document JSON. It is not changed.
 * @param options `policy`; the others say how to find operations, and what keys and
 *   challenges look like.
 * @returns The copy, with the type of the document.
 * @throws TypeError that names every operation that only the document or only the policy has, or
 *   whose `security` differs; if the version is not 3.1; if the document uses one of our component
 *   names for something else; and as `diffOperations` does.
 * @see OpenAPI 3.1 §4.8.27, §4.8.30; RFC 6750 §3; RFC 9457
 * @example
 * const document = secureDocument(written, { policy, prefix: 'acme', realm: 'acme' });
 */
export function secureDocument<Document extends object, Operation extends string>(
  document: Document,
  options: SecureDocumentOptions<Operation>,
): Document {
  const { prefix, realm, ...others } = readFields(options, FIELDS, WHAT);
  const input = readComparisonInput(others, WHAT);
  const { policy, schemeName } = input;
  const table = scopeTable({ policy });
  const copy = readDocument(document, WHAT);
  const comparison = compare(copy, input, WHAT);
  assertNoDifference(comparison);

  const [example] = table.operations.filter(({ scopes }) => scopes.length > 0);
  const refusals = createRefusals(copy, readRealm(realm), example?.scopes ?? [], WHAT);
  for (const { written, operation } of comparison.compared) {
    if (operation === undefined) continue;
    const scopes = policy.requires(operation);
    written.security = [{ [schemeName]: scopes }];
    written.responses = refusals.addTo(objectAt(written, 'responses', WHAT));
  }

  const components = objectAt(copy, 'components', WHAT);
  const scheme = schemeFor(table, prefix);
  copy.components = {
    ...components,
    securitySchemes: withScheme(components, schemeName, scheme),
    schemas: withComponents(components, 'schemas', refusals.schemas),
    responses: withComponents(components, 'responses', refusals.responses),
  };
  // Copied again, so that the result does not share our components and scopes.
  return copyOf(copy, WHAT) as Document;
}

function readRealm(realm: unknown): string | undefined {
  assert(realm === undefined || typeof realm === 'string', `${WHAT}: realm: pass a string`, realm);
  return realm;
}

// ── Differences ─────────────────────────────────────────────────────────────────────────────────

const PROBLEMS: readonly (readonly [Kind, string])[] = [
  ['unmapped', 'not in the policy. Add it, or write "security: []" if anybody may call it'],
  ['conflicting', 'its "security" differs from the policy. Remove that field'],
];

/** Throws an error that names all differences at once. */
function assertNoDifference({ compared, missing }: Comparison): void {
  const differing = PROBLEMS.flatMap(([kind, problem]) =>
    compared.filter((one) => one.kind === kind).map(({ place }) => `${show(place)}: ${problem}`),
  );
  const instead = 'not in the document. Add it there, or to the option "elsewhere"';
  const lacking = missing.map((name) => `${toJson(name)}: ${instead}`);
  const all = [...differing, ...lacking];
  assert(all.length === 0, `${WHAT}: document and policy differ:\n${all.join('\n')}`);
}

// ── Components ──────────────────────────────────────────────────────────────────────────────────

/** The security scheme (OpenAPI 3.1 §4.8.27). */
function schemeFor({ scopes }: ScopeTable, prefix: unknown): Json {
  const lines = scopes.map((entry) => `- ${showName(entry.scope)}: ${describeScope(entry)}`);
  const sentence =
    'An API key, sent as `Authorization: Bearer <key>`. A key has the scopes that it was issued ' +
    'with. Each operation lists the scopes that it needs, all of them.';
  return {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: prefix === undefined ? 'API key' : formatFor(prefix),
    description: [sentence, '', ...lines].join('\n'),
  };
}

function formatFor(prefix: unknown): string {
  return `${createKeyFormat(prefix).prefix}_[0-9A-Za-z]{${SECRET_LENGTH}}`;
}

function withScheme(components: Json, schemeName: string, scheme: Json): Json {
  const schemes = objectAt(components, 'securitySchemes', WHAT);
  if (!Object.hasOwn(schemes, schemeName)) return { ...schemes, [schemeName]: scheme };
  const written = schemes[schemeName];
  const { type, scheme: name } = (isObject(written) ? written : {}) as Json;
  const isBearer = type === 'http' && /^bearer$/i.test(String(name));
  const problem = `${WHAT}: the security scheme ${schemeName} is not an http bearer scheme`;
  assert(isBearer, `${problem}. Pass another schemeName`);
  return schemes;
}

function withComponents(components: Json, kind: string, added: Json): Json {
  const written = objectAt(components, kind, WHAT);
  for (const [name, component] of Object.entries(added)) {
    const isFree = !Object.hasOwn(written, name) || isSame(written[name], component);
    const problem = `${WHAT}: keyscope needs the name components.${kind}.${name}`;
    assert(isFree, `${problem}. Rename yours`);
  }
  return { ...written, ...added };
}
