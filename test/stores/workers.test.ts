import type { KeyStore } from 'keyscope';
import { mysqlStore } from 'keyscope/stores/mysql';
import { postgresStore } from 'keyscope/stores/postgres';
import { describe, expect, test } from 'vitest';

/** Fails as a client does in workerd if another request made it. */
async function refuse(): Promise<never> {
  throw new Error(
    'Cannot perform I/O on behalf of a different request. I/O objects (such as streams) created ' +
      'in the context of one request handler cannot be accessed from a different one.',
  );
}

const NAMED =
  'the client was made in another request, and Cloudflare Workers let no other request use it. ' +
  'Make the client, the store and the keyring in each request';

const STORES: Readonly<Record<string, () => KeyStore>> = {
  postgres: () => postgresStore({ query: refuse, connect: refuse }),
  mysql: () => mysqlStore({ query: refuse, execute: refuse }),
};

// The message was the one of workerd, which does not say what to do.
describe('a client that another request made', () => {
  test.each(Object.entries(STORES))('is named as the cause: %s', async (_name, makeStore) => {
    const store = makeStore();
    const error = await Promise.resolve(store.findByDigest(['a'])).catch((cause: unknown) => cause);
    expect(String(error)).toContain(`: ${NAMED}`);
  });
});
