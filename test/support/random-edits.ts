/**
 * Simulates an attacker who can write the database next to a keyring: edits change any column of
 * any row, between and during the keyring's calls. An ended key must never authenticate again,
 * except if its old seal is restored and the mark cleared, as from a backup.
 */
import type { KeyRecord, Keyring, KeyStore } from 'keyscope';
import { createKeyring, digestKey, isAccessError, isInputError, isStoreError } from 'keyscope';
import { createLeakHandler } from 'keyscope/leaks';
import { catalog, HOUR, NOWHERE, OTHER, OWN, PEPPER, wrap } from './keyring.ts';
import { chanceFrom } from './planted-keys.ts';

/** New values of some fields of a row. */
export type Fields = Partial<Record<keyof KeyRecord, unknown>>;

/** A store whose rows the attacker can write. */
export interface EditableStore {
  readonly store: KeyStore;
  /** Returns every row with its fields unchecked. */
  rows(): Promise<readonly KeyRecord[]>;
  /** Returns the ids by which the store finds a row, if they can differ from the row's own. */
  filedOf?(row: KeyRecord): Pick<KeyRecord, 'keyId' | 'digest'>;
  /** Writes fields of a row. Returns false if the database rejects them. */
  edit(row: KeyRecord, fields: Fields): Promise<boolean>;
  /** Removes all rows. */
  clear(): Promise<void>;
}

/** The number of edits and their results. */
export interface EditTally {
  edits: number;
  accepted: number;
  /** The number of keys that an operation reported as ended. */
  ended: number;
  /** How many of these had their whole row restored, which is the one documented exception. */
  restored: number;
  /** Violations of the law, with the steps that led to them. */
  readonly violations: string[];
}

const ADMIN = { entityId: OWN, entities: [OTHER], scopes: 'all', actor: 'ada' } as const;

/** The number of edits per set of keys. */
const EDITS_A_WORLD = 25;

/** Checks the law over this many edits. */
export async function tryEdits(
  editable: EditableStore,
  count: number,
  seed: number,
): Promise<EditTally> {
  const tally: EditTally = { edits: 0, accepted: 0, ended: 0, restored: 0, violations: [] };
  for (let at = 0; tally.edits < count; at += 1) {
    await editable.clear();
    const world = new World(editable, tally, seed * 1_000_003 + at);
    await world.live(Math.min(count, tally.edits + EDITS_A_WORLD));
  }
  return tally;
}

/** A key as it was issued. */
interface Known {
  readonly key: string;
  readonly keyId: string;
  readonly digest: string;
  /** The row after the issue. */
  readonly issued: KeyRecord;
}

class World {
  readonly #editable: EditableStore;
  readonly #tally: EditTally;
  readonly #chance: () => number;
  readonly #seed: number;
  readonly #known: Known[] = [];
  readonly #ended = new Set<Known>();
  readonly #seals: string[] = [];
  readonly #steps: string[] = [];
  readonly #keyring: Keyring;
  readonly #report: (key: string, action: 'revoke' | 'revokeLineage') => Promise<readonly string[]>;
  #revoked: string[] = [];
  #now = 1_700_000_000_000;
  #isInterleaved = false;

  constructor(editable: EditableStore, tally: EditTally, seed: number) {
    this.#editable = editable;
    this.#tally = tally;
    this.#chance = chanceFrom(seed);
    this.#seed = seed;
    const store = wrap(editable.store, async (_method, _args, call) => {
      if (this.#isInterleaved && this.#isLucky(0.2)) await this.#edit();
      const answer = await call();
      if (this.#isInterleaved && this.#isLucky(0.2)) await this.#edit();
      return answer;
    });
    this.#keyring = createKeyring({
      prefix: 'acme',
      catalog,
      store,
      peppers: [PEPPER],
      storeTimeoutMs: 60_000,
      usage: 'off',
      now: () => this.#now,
      onEvent: (event) => {
        if (event.type === 'key.revoked') this.#revoked.push(event.keyId);
      },
    });
    this.#report = reporter(this.#keyring);
  }

  /** Runs until the total number of edits is reached. */
  async live(edits: number): Promise<void> {
    await this.#populate();
    while (this.#tally.edits < edits) {
      this.#now += 1;
      if (this.#isLucky(0.5)) await this.#operate();
      else await this.#edit();
      await this.#check();
    }
  }

  // ── Operations ─────────────────────────────────────────────────────────────────────────────────

  /** Issues a chain of three keys, a child with its rotation, and an unrelated key. */
  async #populate(): Promise<void> {
    const root = await this.#issue();
    const next = await this.#rotate(root);
    await this.#rotate(next);
    const child = await this.#issue(root);
    await this.#rotate(child);
    await this.#issue();
  }

  async #issue(under?: Known): Promise<Known> {
    // A key that was rotated issues none that outlives its overlap.
    const expiresAt = under === undefined ? 'never' : new Date(this.#now + HOUR);
    const input = { name: 'ci', scopes: ['threats:read'], expiresAt } as const;
    return this.#know(await this.#keyring.issue(input, { ...ADMIN, keyId: under?.keyId }));
  }

  async #rotate({ keyId }: { readonly keyId: string }, under?: Known): Promise<Known> {
    const authority = { ...ADMIN, keyId: under?.keyId };
    return this.#know(await this.#keyring.rotate(keyId, { overlapMs: 9 * HOUR }, authority));
  }

  async #know({ key, info }: Awaited<ReturnType<Keyring['issue']>>): Promise<Known> {
    const rows = await this.#editable.rows();
    const digest = digestKey(key, PEPPER);
    // By either, because an edit may have come between the insert and the answer.
    const found = rows.find((row) => row.digest === digest || row.keyId === info.keyId);
    if (found === undefined) throw new Error('an issued key is not in the store');
    const issued = { ...found, digest, keyId: info.keyId };
    const known: Known = { key, keyId: info.keyId, digest, issued };
    this.#known.push(known);
    this.#seals.push(String(issued.seal));
    return known;
  }

  /** Runs one operation with edits between its store calls, and records the keys it ended. */
  async #operate(): Promise<void> {
    const rows = await this.#editable.rows();
    const target = this.#pick(rows);
    const { keyId } = this.#filedOf(target);
    const name = this.#pick(Object.keys(this.#calls));
    this.#steps.push(`${name} ${keyId.slice(0, 8)}`);
    this.#isInterleaved = true;
    this.#revoked = [];
    let reported: readonly string[] = [];
    try {
      reported = await (this.#calls[name]?.(keyId, target) ?? []);
    } catch (error) {
      const isExpected = isAccessError(error) || isStoreError(error) || isInputError(error);
      if (!isExpected) throw error;
    } finally {
      this.#isInterleaved = false;
    }
    await this.#noteEnded([...reported, ...this.#revoked]);
  }

  /** Operations that return the ids of the keys they reported as ended. */
  readonly #calls: Readonly<
    Record<string, (keyId: string, target: KeyRecord) => Promise<readonly string[]>>
  > = {
    revoke: async (keyId) => {
      await this.#keyring.revoke(keyId, ADMIN);
      return [keyId];
    },
    'revoke again': async (keyId) => {
      await this.#keyring.revoke(keyId, ADMIN);
      await this.#keyring.revoke(keyId, ADMIN);
      return [keyId];
    },
    revokeLineage: async (keyId) => [keyId, ...(await this.#keyring.revokeLineage(keyId, ADMIN))],
    report: async (_keyId, target) => this.#reportKey(target, 'revoke'),
    'report a lineage': async (_keyId, target) => this.#reportKey(target, 'revokeLineage'),
    suspend: async (keyId) => {
      await this.#keyring.suspend(keyId, ADMIN);
      return [];
    },
    resume: async (keyId) => {
      await this.#keyring.resume(keyId, ADMIN);
      return [];
    },
    rotate: async (keyId) => {
      if (this.#known.length < 12) await this.#rotate({ keyId });
      return [];
    },
    'rotate under a key': async (keyId) => {
      const under = this.#isLucky(0.5) ? this.#pick(this.#known) : this.#ofId(keyId);
      if (this.#known.length < 12) await this.#rotate({ keyId }, under);
      return [];
    },
    'resume under a key': async (keyId) => {
      await this.#keyring.resume(keyId, { ...ADMIN, keyId: this.#pick(this.#known).keyId });
      return [];
    },
    'issue under a key': async () => {
      if (this.#known.length < 12) await this.#issue(this.#pick(this.#known));
      return [];
    },
  };

  #ofId(keyId: string): Known | undefined {
    return this.#known.find((known) => known.keyId === keyId);
  }

  async #reportKey(
    target: KeyRecord,
    action: 'revoke' | 'revokeLineage',
  ): Promise<readonly string[]> {
    const known = this.#known.find((each) => this.#isOf(each, target));
    return known === undefined ? [] : this.#report(known.key, action);
  }

  /** Records ended keys, by id and by the digest of the row with this id. */
  async #noteEnded(keyIds: readonly string[]): Promise<void> {
    const rows = await this.#editable.rows();
    for (const keyId of keyIds) {
      const row = rows.find((each) => this.#filedOf(each).keyId === keyId);
      for (const known of this.#known) {
        // An edit may have changed the id of the row.
        const isIt = row === undefined ? known.keyId === keyId : this.#isOf(known, row);
        if (!isIt) continue;
        if (this.#ended.has(known)) continue;
        this.#ended.add(known);
        this.#tally.ended += 1;
      }
    }
  }

  // ── Edits ──────────────────────────────────────────────────────────────────────────────────────

  async #edit(): Promise<void> {
    const rows = await this.#editable.rows();
    if (rows.length === 0) return;
    const row = this.#pick(rows);
    const fields = this.#fieldsFor(row, rows);
    for (const seal of rows.map((each) => each.seal)) if (seal) this.#seals.push(seal);
    const accepted = await this.#editable.edit(row, fields);
    this.#tally.edits += 1;
    if (accepted) this.#tally.accepted += 1;
    this.#steps.push(
      `edit ${this.#filedOf(row).keyId.slice(0, 8)} ${JSON.stringify(fields)} ${accepted}`,
    );
  }

  #fieldsFor(row: KeyRecord, rows: readonly KeyRecord[]): Fields {
    const issued = this.#known.find((known) => this.#isOf(known, row))?.issued ?? row;
    const other = this.#pick(rows);
    const seal = this.#pick([
      null,
      other.seal,
      issued.seal,
      this.#pick(this.#seals),
      'ab'.repeat(32),
    ]);
    const cleared = { revokedAt: null, endedBy: null, endReason: null, changedAt: null };
    const marks = {
      revokedAt: other.revokedAt,
      endedBy: other.endedBy,
      endReason: other.endReason,
      seal: other.seal,
    };
    const whole = this.#pick<Fields>([
      { revokedAt: null },
      { revokedAt: this.#now - 5 },
      { revokedAt: this.#now - 5, changedAt: this.#now - 5, endedBy: 'ada' },
      cleared,
      { ...cleared, seal },
      { seal },
      { suspendedAt: null, retireAt: null },
      marks,
      { ...marks, seal: row.seal },
    ]);
    if (this.#isLucky(0.4)) return whole;
    const fields: Fields = {};
    do {
      const field = this.#pick(Object.keys(VALUES)) as keyof KeyRecord;
      const isUndone = this.#isLucky(0.4);
      // Edits may restore old values.
      const values = [other[field], ...(VALUES[field]?.(this.#now, rows.map(idOf)) ?? [])];
      fields[field] = isUndone ? issued[field] : this.#pick(values);
    } while (this.#isLucky(0.3));
    return fields;
  }

  // ── The law ────────────────────────────────────────────────────────────────────────────────────

  async #check(): Promise<void> {
    for (const known of this.#ended) {
      const passes = await this.#keyring.verify(known.key).then(
        () => true,
        () => false,
      );
      if (!passes) continue;
      const rows = await this.#editable.rows();
      const row = rows.find((each) => this.#isOf(known, each));
      this.#ended.delete(known);
      if (row?.seal === known.issued.seal && row.revokedAt === null) this.#tally.restored += 1;
      else this.#violate(known);
    }
  }

  #filedOf(row: KeyRecord): Pick<KeyRecord, 'keyId' | 'digest'> {
    return this.#editable.filedOf?.(row) ?? row;
  }

  #isOf(known: Known, row: KeyRecord): boolean {
    return this.#filedOf(row).digest === known.digest;
  }

  #violate({ keyId }: Known): void {
    const steps = this.#steps.join('\n  ');
    this.#tally.violations.push(`seed ${this.#seed}: ${keyId} lives again after\n  ${steps}`);
  }

  #isLucky(probability: number): boolean {
    return this.#chance() < probability;
  }

  #pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#chance() * list.length)] as T;
  }
}

function idOf({ keyId }: KeyRecord): string {
  return keyId;
}

/** New values for each field. */
const VALUES: Readonly<
  Partial<Record<keyof KeyRecord, (now: number, ids: readonly string[]) => readonly unknown[]>>
> = {
  format: () => [1, 2],
  keyId: () => [globalThis.crypto.randomUUID()],
  prefix: () => ['acme', 'other'],
  hint: () => ['AAAA', ''],
  name: () => ['other'],
  digest: () => [
    `h1.p1$${'0123456789abcdef'.repeat(3)}${globalThis.crypto.randomUUID().slice(0, 8)}`,
  ],
  entityId: () => [OWN, OTHER],
  accessibleEntities: () => [[OWN], [OWN, OTHER]],
  scopes: () => [['threats:read', 'threats:write'], []],
  justification: () => ['because', null],
  metadata: () => [{ team: 'red' }],
  createdAt: (now) => [now - 7],
  createdBy: () => ['eve', null],
  expiresAt: (now) => [null, now - 1, now + HOUR],
  rotatedFrom: (_now, ids) => [null, ...ids],
  rootKeyId: (_now, ids) => [NOWHERE, ...ids],
  issuedUnder: (_now, ids) => [null, NOWHERE, ...ids],
  trust: () => [null, '{"subject":"ci"}'],
  seal: () => [null, 'ab'.repeat(32)],
  revokedAt: (now) => [null, now - 3],
  suspendedAt: (now) => [null, now - 3],
  retireAt: (now) => [null, now - 3, now + HOUR],
  withdrawn: () => [[], [OTHER]],
  endedBy: () => ['eve', null],
  endReason: () => ['none', null],
  changedAt: (now) => [null, now - 3],
};

/** Reports a key as its holder would, and returns the ids of the keys that this ended. */
function reporter(keyring: Keyring) {
  return async (key: string, action: 'revoke' | 'revokeLineage'): Promise<readonly string[]> => {
    const ended: string[] = [];
    const handler = createLeakHandler({
      keyrings: { acme: keyring },
      holder: { action },
      onLeak: (leak) => ended.push(...leak.ended),
    });
    const body = new URLSearchParams({ token: key });
    const url = 'https://acme.example/leaks/revoke';
    await handler(new Request(url, { method: 'POST', body }));
    return ended;
  };
}
