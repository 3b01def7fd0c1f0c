/** The form that creates a key, and the page that shows the key once. */
import type { Hono } from 'hono';
import { type Catalog, isInputError } from 'keyscope';
import { issueInputSchemaFor } from 'keyscope/schemas';
import { closeForm, expiryOf, leadToNewKey, openForm, requireAuthority } from './forms.ts';
import type { Faults, NewKey } from './pages/new-key.ts';
import { NOTHING_ENTERED, newKeyPage } from './pages/new-key.ts';
import { shownOncePage } from './pages/shown-once.ts';
import { KEYS } from './paths.ts';
import type { ConsoleService } from './service.ts';
import type { Answer, Env, Visit } from './visit.ts';
import { field } from './visit.ts';

function showForm(c: Visit, catalog: Catalog, input: NewKey, faults: Faults): Answer {
  const { scopes } = requireAuthority(c);
  const offered = catalog.expand(scopes === 'all' ? ['*:*'] : scopes);
  const status = Object.keys(faults).length === 0 ? 200 : 400;
  const form = { catalog, offered, once: openForm(c), input, faults };
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

interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** Returns the first message for each field. */
function faultsOf(issues: readonly Issue[]): Faults {
  const faults: Record<string, string> = {};
  for (const { path, message } of issues) faults[String(path[0] ?? 'name')] ??= message;
  return faults;
}

async function create(
  c: Visit,
  { keyring }: ConsoleService,
  schema: ReturnType<typeof issueInputSchemaFor>,
  now: number,
): Promise<Response> {
  const { catalog } = keyring;
  const authority = requireAuthority(c);
  const entered = readNewKey(c);
  const { name, scopes, lifetime, justification } = entered;
  closeForm(c);
  const expiresAt = expiryOf(lifetime, now);
  const read = schema.safeParse({
    name,
    scopes,
    expiresAt: expiresAt === 'never' ? expiresAt : expiresAt.toISOString(),
    ...(justification !== '' && { justification }),
  });
  // keyscope allows a key without scopes, but here it is more likely a mistake.
  const faults: Faults = scopes.length === 0 ? { scopes: 'Select at least one scope.' } : {};
  if (!read.success) {
    return showForm(c, catalog, entered, { ...faults, ...faultsOf(read.error.issues) });
  }
  if (scopes.length === 0) return showForm(c, catalog, entered, faults);
  try {
    return await leadToNewKey(c, await keyring.issue(read.data, authority), 'Key created.');
  } catch (error) {
    if (isInputError(error)) return showForm(c, catalog, entered, { [error.field]: error.message });
    throw error;
  }
}

/** Shows the key once. A second visit redirects to the page about the key. */
function showOnce(c: Visit, keyId: string, { publicUrl }: ConsoleService): Answer {
  const { newKeys } = c.var.session;
  const waiting = newKeys.get(keyId);
  newKeys.delete(keyId);
  if (waiting === undefined) return c.redirect(`${KEYS}/${encodeURIComponent(keyId)}`, 303);
  return c.html(shownOncePage(c.var.member, waiting, `${publicUrl}/v1`));
}

export function serveNewKeys(app: Hono<Env>, path: string, service: ConsoleService): void {
  const { keyring, now } = service;
  const { catalog } = keyring;
  const schema = issueInputSchemaFor(keyring, { now });
  app.get(`${path}/new`, (c) => showForm(c, catalog, NOTHING_ENTERED, {}));
  app.post(path, (c) => create(c, service, schema, now()));
  app.get(`${path}/:id/new`, (c) => showOnce(c, c.req.param('id'), service));
}
