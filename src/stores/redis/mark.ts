/** Marks keys: what `applyMark` does to a record, as calls of scripts. */
import type { KeyRecord } from '../../core/record.js';
import type { Mark, WithdrawMark } from '../../core/store.js';
import { isText } from '../bindable.js';
import { parseField } from './fields.js';
import { type Link, readFrom, runOn } from './link.js';
import { changeOf, type Keys } from './schema.js';
import { ANOTHER_ID, FILE, MARK, WITHDRAW } from './scripts.js';
import { leadsTo, readPointer } from './walk.js';

/** Writes a mark if its condition holds; says whether it did. */
export async function mark(link: Link, keys: Keys, keyId: string, change: Mark): Promise<boolean> {
  if (!isText(keyId)) return false;
  const entry = await readPointer(link, keys, keyId);
  if (entry === null) return false;
  // Filed first, so that no mark is missing from the index. Without its mark, an entry is skipped.
  const filing = changeOf(keys, entry, changedAt(change));
  await runOn(link, filing.index, FILE, [filing.member]);
  const record = keys.record(entry.digest);
  const { script, args } = callOf(change);
  const answer = Number(await runOn(link, record, script, [JSON.stringify(keyId), ...args]));
  if (answer !== ANOTHER_ID) return answer === 1;
  // It is another key's record, or this one's with an edited id: a damaged key can be revoked, too.
  const edited = String((await readFrom(link, record, 'HGET', 'keyId')) ?? '');
  if (await leadsTo(link, keys, parseField(edited), entry.digest)) return false;
  return Number(await runOn(link, record, script, [edited, ...args])) === 1;
}

function changedAt(change: Mark): number {
  return change.kind === 'retire' ? (change.changedAt ?? change.at) : change.at;
}

// ── Calls of scripts ────────────────────────────────────────────────────────────────────────────

interface Call {
  readonly script: string;
  /** Those after the key id. */
  readonly args: readonly string[];
}

function callOf(change: Mark): Call {
  if (change.kind === 'withdraw') {
    const { entityUuid, at } = change;
    return { script: WITHDRAW, args: [entityUuid, JSON.stringify(entityUuid), String(at)] };
  }
  const { withdrawn = [] } = change.kind === 'retire' ? change : {};
  const args: string[] = [change.kind, JSON.stringify(withdrawn)];
  for (const [field, value] of Object.entries(changesOf(change))) {
    // A caller without types may leave out what is null.
    args.push(field, JSON.stringify(value ?? null));
  }
  return { script: MARK, args };
}

function changesOf(change: Exclude<Mark, WithdrawMark>): Partial<KeyRecord> {
  const { at } = change;
  switch (change.kind) {
    case 'revoke': {
      const { by, reason, seal } = change;
      return { revokedAt: at, changedAt: at, endedBy: by, endReason: reason, seal };
    }
    case 'suspend':
      return { suspendedAt: at, changedAt: at, endedBy: change.by, endReason: change.reason };
    case 'resume':
      return { suspendedAt: null, changedAt: at, endedBy: null, endReason: null };
    case 'retire': {
      const { by, reason } = change;
      return { retireAt: at, changedAt: changedAt(change), endedBy: by, endReason: reason };
    }
  }
}
