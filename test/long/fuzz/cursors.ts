/** The first argument of `list`, and its cursors. */
import assert from 'node:assert/strict';
import { createKeyring } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import type { Target } from './judge.ts';
import { requireComplaint, settled, timed } from './judge.ts';
import { ROW } from './rows.ts';
import { AUTHORITY, base, OWN, START } from './subject.ts';
import { isUuid } from './uuids.ts';

const store = memoryStore();
for (const [i, createdAt] of [0, 0, 1, 36, 1e6, START, START].entries()) {
  const keyId = `${i}0000000-0000-4000-8000-000000000000`;
  await store.insert({ ...ROW, keyId, digest: `s1$${String(i).repeat(64)}`, createdAt });
}
const ring = timed(createKeyring({ ...base, store }));

interface Listed {
  readonly at: number;
  readonly keyId: string;
  readonly cursor: string;
}

function toListed({
  createdAt,
  keyId,
}: {
  readonly createdAt: Date;
  readonly keyId: string;
}): Listed {
  const at = createdAt.getTime();
  return { at, keyId, cursor: `${at.toString(36)}.${keyId}` };
}

const { keys } = await ring.list({ limit: 1000 }, AUTHORITY);
const all = keys.filter((each) => 'name' in each).map(toListed);
const cursors = all.map((each) => each.cursor);

/** Lists the keys after a cursor; throws if it is another spelling of a cursor. */
function behind(after: string | null): readonly Listed[] {
  if (after === null) return all;
  const [time = '', id = ''] = after.split('.');
  const at = Number.parseInt(time, 36);
  const isOneSpelling = after === `${at.toString(36)}.${id}`;
  assert.ok(
    isOneSpelling && Number.isSafeInteger(at) && isUuid(id),
    'another spelling of a cursor',
  );
  return all.filter((each) => each.at < at || (each.at === at && each.keyId < id));
}

interface Asked {
  readonly after?: string | null;
  readonly limit?: number;
}

export const cursor: Target = {
  seeds: [
    {},
    undefined,
    { limit: 1 },
    { after: null },
    ...cursors.map((after) => ({ after })),
    ...cursors.map((after) => ({ after, limit: 2 })),
  ],
  words: [
    'after',
    'limit',
    '.',
    '0',
    'z',
    '-',
    'entityId',
    'Infinity',
    'NaN',
    '1e3',
    OWN,
    ...cursors,
  ],
  async check(given) {
    const { value, error } = await settled(ring.list(given as object, AUTHORITY));
    if (value === undefined) return requireComplaint(error, given);
    const { after = null, limit = 100 }: Asked = { ...(given as Asked) };
    const rest = behind(after);
    const page = rest.slice(0, limit);
    assert.deepEqual(
      value.keys.map(({ keyId }) => keyId),
      page.map(({ keyId }) => keyId),
    );
    assert.equal(value.next, rest.length > limit ? page.at(-1)?.cursor : null);
  },
};
