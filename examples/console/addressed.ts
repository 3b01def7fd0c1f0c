/** Lists the keys of other organizations that can address this one, and withdraws their access. */
import type { Hono } from 'hono';
import { isInputError } from 'keyscope';
import { leadTo, orRefused, requireAuthority, takeNotice } from './forms.ts';
import { addressedPage } from './pages/addressed.ts';
import { ADDRESSING } from './paths.ts';
import type { ConsoleService } from './service.ts';
import type { Env, Visit } from './visit.ts';
import { Refused } from './visit.ts';

const PAGE_SIZE = 50;

async function showAddressed(c: Visit, service: ConsoleService): Promise<Response> {
  const { keyring, nameOf, now } = service;
  const { member } = c.var;
  const { entityId } = member;
  const after = c.req.query('after');
  try {
    const input = { addressing: true, after, limit: PAGE_SIZE } as const;
    const { keys, next } = await keyring.list(input, { entityId });
    const notice = await takeNotice(c);
    return c.html(addressedPage(member, { keys, next, nameOf, notice, now: now() }));
  } catch (error) {
    if (isInputError(error)) throw new Refused(400, 'The list has no such page.');
    throw error;
  }
}

async function withdraw(c: Visit, id: string, service: ConsoleService): Promise<Response> {
  await orRefused(service.keyring.withdraw(id, requireAuthority(c)));
  const notice = 'Access withdrawn. The key can no longer reach your organization.';
  return leadTo(c, ADDRESSING, notice, service);
}

export function serveAddressed(app: Hono<Env>, path: string, service: ConsoleService): void {
  app.get(path, (c) => showAddressed(c, service));
  app.post(`${path}/:id`, (c) => withdraw(c, c.req.param('id'), service));
}
