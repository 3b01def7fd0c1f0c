/**
 * A thief with one leaked key that manages keys, who issues, rotates, suspends and resumes over
 * HTTP on several connections, and the service that he talks to. Each runs in a process of its own.
 */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { isAccessError } from 'keyscope';
import { authorityFrom, createKeyAdmin } from 'keyscope/admin';
import { PLAIN } from './keyring.ts';
import type { PatientKeyring } from './patient-keyring.ts';
import type { Handed } from './store-process.ts';

const OVERLAP_MS = 3_600_000;

/** Serves the endpoints that manage keys to anyone who has a key. Returns their address. */
export async function serveKeys(keyring: PatientKeyring): Promise<string> {
  const admin = createKeyAdmin({
    keyring,
    authorityOf: async (request) => authorityFrom(await keyring.authenticate(request)),
  });
  const server = createServer(getRequestListener(admin));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // The process ends without waiting for the connections of the thief.
  server.unref();
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
}

/** Issues many keys under one. */
export async function fillLineage(
  keyring: PatientKeyring,
  entityId: string,
  keyId: string,
  count: number,
): Promise<void> {
  let left = count;
  const lanes = Array.from({ length: 16 }, async () => {
    while (left > 0) {
      left -= 1;
      await keyring.issue(PLAIN, { entityId, scopes: 'all', keyId });
    }
  });
  await Promise.all(lanes);
}

/** The keys and refusals of a thief. */
export interface Loot {
  readonly keys: readonly string[];
  readonly refused: number;
  /** The calls that were refused by a status that says nothing about the key. */
  readonly failed: number;
}

export class Thief {
  readonly #url: string;
  /** The stolen key and its rotations, newest last. */
  readonly #own: Handed[];
  readonly #issued: Handed[] = [];
  #refused = 0;
  #failed = 0;
  #isOver = false;
  #lanes: readonly Promise<void>[] = [];

  constructor(url: string, stolen: Handed) {
    this.#url = url;
    this.#own = [stolen];
  }

  /** Resolves once the thief has made something. */
  async begin(connections: number): Promise<void> {
    this.#lanes = Array.from({ length: connections }, async (_, lane) => {
      for (let step = lane; !this.#isOver; step++) await this.#step(step);
    });
    while (this.#own.length < 2 || this.#issued.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  async end(): Promise<Loot> {
    this.#isOver = true;
    await Promise.all(this.#lanes);
    const keys = [...this.#own, ...this.#issued].map(({ key }) => key);
    return { keys, refused: this.#refused, failed: this.#failed };
  }

  async #step(step: number): Promise<void> {
    const newest = this.#own.at(-1) as Handed;
    const child = this.#issued.at(-1);
    const turn = step % 4;
    if (turn === 3) {
      const made = await this.#send(newest, `/${newest.keyId}/rotate`, { overlapMs: OVERLAP_MS });
      if (made !== null) this.#own.push(made);
    } else if (turn === 2 && child !== undefined) {
      await this.#send(newest, `/${child.keyId}/suspend`, {});
      await this.#send(newest, `/${child.keyId}/resume`, {});
    } else {
      const issuer = turn === 1 ? (child ?? newest) : newest;
      const made = await this.#send(issuer, '', { ...PLAIN, expiresAt: 'never' });
      if (made !== null) this.#issued.push(made);
    }
  }

  /** Returns a new key, or null. */
  async #send({ key }: Handed, path: string, body: object): Promise<Handed | null> {
    const response = await fetch(this.#url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const answer = (await response.json().catch(() => ({}))) as {
      readonly key?: string;
      readonly info?: { readonly keyId: string };
    };
    if (response.status >= 500) this.#failed += 1;
    else if (!response.ok) this.#refused += 1;
    const { key: made, info } = answer;
    return made === undefined || info === undefined ? null : { key: made, keyId: info.keyId };
  }
}

/** Fails unless the keyring refuses every key. */
export async function requireDead(keyring: PatientKeyring, keys: readonly string[]): Promise<void> {
  const results = await Promise.allSettled(keys.map((key) => keyring.verify(key)));
  const living = results.filter(({ status }) => status === 'fulfilled').length;
  assert.equal(living, 0, `${living} of ${keys.length} keys of the thief live`);
  for (const result of results) {
    assert.ok(result.status === 'rejected' && isAccessError(result.reason), 'a look-up failed');
  }
}
