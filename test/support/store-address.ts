/** A separate store for one test on the shared servers, with its address. */

import { folder } from './folder.ts';
import { emptyDatabase } from './mysql-clients.ts';
import { emptySchema } from './postgres-clients.ts';
import { deleteUnder } from './redis-clients.ts';
import { SERVERS } from './servers.ts';

/** The address of an unshared store, and a function that removes it. */
export interface Scratch {
  readonly address: string;
  remove(): Promise<unknown>;
}

export type StoreKind = 'sqlite' | 'postgres' | 'mysql' | 'redis';

const MAKERS: Readonly<Record<StoreKind, () => Promise<Scratch>>> = {
  async sqlite() {
    const { file, remove } = folder();
    return { address: `sqlite:${file('store.db')}`, remove: async () => remove() };
  },

  async postgres() {
    const { name, drop } = await emptySchema();
    const address = new URL(SERVERS.postgres);
    address.search = `?options=${encodeURIComponent(`-c search_path=${name}`)}`;
    return { address: address.href, remove: drop };
  },

  async mysql() {
    const { name, drop } = await emptyDatabase();
    const address = new URL(SERVERS.mysql);
    address.pathname = name;
    return { address: address.href, remove: drop };
  },

  async redis() {
    const prefix = `keyscope-test-${crypto.randomUUID()}:`;
    const address = new URL(SERVERS.redis);
    address.search = `?prefix=${prefix}`;
    return { address: address.href, remove: () => deleteUnder(SERVERS.redis, prefix) };
  },
};

export function makeScratch(kind: StoreKind): Promise<Scratch> {
  return MAKERS[kind]();
}
