/** The rights of a database role, and a run of everything that a store does. */
import type { KeyRecord, KeyStore, Mark } from 'keyscope';
import { OTHER, OWN, THIRD } from './keyring.ts';
import { RECORD } from './records.ts';

/** One right on one table: `UPDATE (seal)` on `keyscope.keyscope_keys`. */
export interface Right {
  readonly right: string;
  readonly table: string;
}

/** Returns the single rights in GRANT statements, one for each column. */
export function rightsIn(sql: string): readonly Right[] {
  const grants = sql.matchAll(/^GRANT ([^;]+?)\s+ON (\S+) TO/gm);
  return [...grants].flatMap(([, list = '', table = '']) =>
    singles(list).map((right) => ({ right, table })),
  );
}

/** `SELECT, UPDATE (a, b)` → `SELECT`, `UPDATE (a)`, `UPDATE (b)`. */
function singles(list: string): readonly string[] {
  return [...list.matchAll(/(\w+)(?: \(([^)]*)\))?/g)].flatMap(([, word = '', columns]) =>
    columns === undefined ? [word] : columns.split(',').map((each) => `${word} (${each.trim()})`),
  );
}

const NOBODY = { by: null, reason: null } as const;
const MARKS: readonly Mark[] = [
  { kind: 'suspend', at: 1, ...NOBODY },
  { kind: 'resume', at: 2 },
  { kind: 'withdraw', at: 3, entityId: OTHER },
  { kind: 'retire', at: 4, retireAt: 4, ...NOBODY, withdrawn: [OTHER] },
  { kind: 'revoke', at: 5, ...NOBODY, seal: null },
];

/** Calls every method of a store, with a new key. */
export async function useEverything(store: Required<KeyStore>): Promise<void> {
  const keyId = crypto.randomUUID();
  const digest = `s1$${keyId.replaceAll('-', '').repeat(2)}`;
  const accessibleEntities = [OWN, OTHER, THIRD];
  const record: KeyRecord = { ...RECORD, keyId, rootKeyId: keyId, digest, accessibleEntities };
  await store.insert(record);
  const page = { prefix: record.prefix, after: null, limit: 1_000 };
  const part = { after: null, limit: 1_000 };
  await store.list({ ...page, entityId: OWN });
  const found = [
    ...(await store.findByDigest([digest])),
    await store.findById(keyId),
    ...(await store.listLineage({ ...part, rootKeyId: keyId })),
    ...(await store.list({ ...page, entityId: THIRD, addressing: true })),
  ];
  const seen = found.filter((each) => each?.keyId === keyId);
  if (seen.length !== 4) throw new Error(`the key is in ${seen.length} of 4 answers`);
  await store.summarize(1);
  await store.listAll(part);
  await store.listExpiring({ ...part, before: 1 });
  await store.listChanged({ since: 0, limit: 9 });
  await store.touch([{ keyId, lastUsedAt: 5, scopesUsed: { 'a:b': 5 } }]);
  // A store may ignore that it has no right to write usage.
  const used = await store.findById(keyId);
  if (used?.lastUsedAt !== 5) throw new Error('the usage was not written');
  for (const mark of MARKS) {
    if (!(await store.mark(keyId, mark))) throw new Error(`${mark.kind} was not written`);
  }
}
