/** Keys of other organizations that address this one, and cutting it off from them. */
import type { Hono } from 'hono';
import { isInputError } from 'keyscope';
import { requireAuthority } from './forms.ts';
import { addressedPage } from './pages/addressed.ts';
import { ADDRESSING } from './paths.ts';
import type { ConsoleService } from './service.ts';
import type { Env, Visit } from './visit.ts';
import { Refused } from './visit.ts';

const PAGE_SIZE = 50;

async function showAddressed(c: Visit, { keyring, now }: ConsoleService): Promise<Response> {
  const { member } = c.var;
  const { entityUuid } = member;
  const after = c.req.query('after');
  try {
    const input = { addressing: true, after, limit: PAGE_SIZE } as const;
    const page = await keyring.list(input, { entityUuid });
    return c.html(addressedPage(member, page, now()));
  } catch (error) {
    if (isInputError(error)) throw new Refused(400, 'This is no page of the list.');
    throw error;
  }
}

async function withdraw(c: Visit, id: string, { keyring }: ConsoleService): Promise<Response> {
  await keyring.withdraw(id, requireAuthority(c));
  return c.redirect(ADDRESSING, 303);
}

export function serveAddressed(app: Hono<Env>, path: string, service: ConsoleService): void {
  app.get(path, (c) => showAddressed(c, service));
  app.post(`${path}/:id`, (c) => withdraw(c, c.req.param('id'), service));
}
