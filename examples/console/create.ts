/** The form that creates a key. */
import type { Hono } from 'hono';
import { type Catalog, isInputError } from 'keyscope';
import { issueInputSchemaFor } from 'keyscope/schemas';
import { expiryOf, requireAuthority, ruleFor, showOnce } from './forms.ts';
import type { Faults, NewKey } from './pages/new-key.ts';
import { NOTHING_ENTERED, newKeyPage } from './pages/new-key.ts';
import type { ConsoleService } from './service.ts';
import type { Answer, Env, Visit } from './visit.ts';
import { field } from './visit.ts';

function showForm(c: Visit, catalog: Catalog, input: NewKey, faults: Faults): Answer {
  const { scopes } = requireAuthority(c);
  const offered = catalog.expand(scopes === 'all' ? ['*:*'] : scopes);
  const status = Object.keys(faults).length === 0 ? 200 : 400;
  const form = { catalog, offered, input, faults };
  return c.html(newKeyPage(c.var.member, form), status);
}

function readNewKey(c: Visit): NewKey {
  return {
    name: field(c, 'name').trim(),
    scopes: c.var.form.getAll('scopes'),
    lifetime: field(c, 'lifetime'),
    justification: field(c, 'justification').trim(),
  };
}

/** Returns the rules of these fields, by their names. */
function faultsIn(fields: readonly string[]): Faults {
  return Object.fromEntries(fields.map((name) => [name, ruleFor(name)]));
}

async function create(
  c: Visit,
  service: ConsoleService,
  schema: ReturnType<typeof issueInputSchemaFor>,
): Promise<Response> {
  const { keyring, now } = service;
  const { catalog } = keyring;
  const authority = requireAuthority(c);
  const entered = readNewKey(c);
  const { name, scopes, lifetime, justification } = entered;
  const expiresAt = expiryOf(lifetime, now());
  const read = schema.safeParse({
    name,
    scopes,
    expiresAt: expiresAt === 'never' ? expiresAt : expiresAt.toISOString(),
    ...(justification !== '' && { justification }),
  });
  // keyscope allows a key without scopes, but here it is more likely a mistake.
  const wrong = scopes.length === 0 ? ['scopes'] : [];
  if (!read.success) wrong.push(...read.error.issues.map(({ path }) => String(path[0])));
  if (!read.success || wrong.length > 0) return showForm(c, catalog, entered, faultsIn(wrong));
  try {
    return await showOnce(c, await keyring.issue(read.data, authority), 'Key created.', service);
  } catch (error) {
    if (isInputError(error)) return showForm(c, catalog, entered, faultsIn([error.field]));
    throw error;
  }
}

export function serveNewKeys(app: Hono<Env>, path: string, service: ConsoleService): void {
  const { keyring, now } = service;
  const { catalog } = keyring;
  const schema = issueInputSchemaFor(keyring, { now });
  app.get(`${path}/new`, (c) => showForm(c, catalog, NOTHING_ENTERED, {}));
  app.post(path, (c) => create(c, service, schema));
}
