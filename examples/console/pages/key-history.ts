/** The history of a key, as far as its record keeps it. */
import { html } from 'hono/html';
import type { DamagedKey, KeyInfo } from 'keyscope';
import { KEYS } from '../paths.ts';
import type { Html } from './frame.ts';
import { cell, time } from './frame.ts';
import { handleOf } from './key-state.ts';

/** A key, and the keys that it was rotated from and to, where they are known. */
export interface WithKin {
  readonly key: KeyInfo;
  readonly predecessor: KeyInfo | DamagedKey | null;
  readonly successor: KeyInfo | null;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

interface Entry {
  readonly what: Html | string;
  readonly at: Date | null;
  /** `null` if the record does not say. */
  readonly by: string | null;
  readonly why: string | null;
}

function linkTo(key: KeyInfo | DamagedKey): Html {
  const words = html`<code>${'name' in key ? handleOf(key) : key.keyId}</code>`;
  return html`<a href="${KEYS}/${key.keyId}">${words}</a>`;
}

function creationOf({ key, predecessor }: WithKin): Entry {
  const { createdAt: at, createdBy: by, rotatedFrom } = key;
  if (rotatedFrom === null) return { what: 'Created', at, by, why: null };
  const from = predecessor === null ? html`<code>${rotatedFrom}</code>` : linkTo(predecessor);
  return { what: html`Created by rotating ${from}`, at, by, why: null };
}

type Change = 'revoked' | 'suspended' | 'rotated';

/**
 * Returns who made a change and why. The record keeps that for the newest change only. A suspended
 * key cannot be rotated, so a suspension is newer than a rotation.
 */
function authorOf(key: KeyInfo, change: Change): Pick<Entry, 'by' | 'why'> {
  const newerThanRotation = key.suspendedAt === null ? 'rotated' : 'suspended';
  const newest: Change = key.revokedAt === null ? newerThanRotation : 'revoked';
  if (change !== newest) return { by: null, why: null };
  return { by: key.endedBy, why: key.endReason };
}

/** The record says only when the old key ends, so the rest comes from the new key. */
function rotationOf({ key, successor }: WithKin): Entry {
  const { by, why } = authorOf(key, 'rotated');
  if (successor === null) return { what: 'Rotated', at: null, by, why };
  const { createdAt: at, createdBy } = successor;
  return { what: html`Rotated to ${linkTo(successor)}`, at, by: createdBy, why };
}

/** Returns the events after the creation, in no order. */
function laterEntriesOf(kin: WithKin): readonly Entry[] {
  const { key, now } = kin;
  const { suspendedAt, revokedAt, retireAt, expiresAt } = key;
  const entries: Entry[] = [];
  if (retireAt !== null) entries.push(rotationOf(kin));
  if (suspendedAt !== null)
    entries.push({ what: 'Suspended', at: suspendedAt, ...authorOf(key, 'suspended') });
  if (revokedAt !== null)
    entries.push({ what: 'Revoked', at: revokedAt, ...authorOf(key, 'revoked') });
  // A revoked key has ended already, whatever its other limits are.
  const until = revokedAt?.getTime() ?? now;
  if (retireAt !== null && retireAt.getTime() <= until)
    entries.push({ what: 'Stopped working after the rotation', at: retireAt, by: null, why: null });
  if (expiresAt !== null && expiresAt.getTime() <= until)
    entries.push({ what: 'Expired', at: expiresAt, by: null, why: null });
  return entries;
}

function timeOf({ at }: Entry): number {
  return at?.getTime() ?? Number.NEGATIVE_INFINITY;
}

/** Returns the entries, oldest first. One without a time comes right after the creation. */
function entriesOf(kin: WithKin): readonly Entry[] {
  const later = laterEntriesOf(kin).toSorted((one, other) => timeOf(one) - timeOf(other));
  return [creationOf(kin), ...later];
}

function row({ what, at, by, why }: Entry): Html {
  return html`<tr><th scope="row">${what}</th>
      ${cell('When', time(at, 'not recorded'))}
      ${cell('By', by ?? '–')}
      ${cell('Reason', why ?? '–')}</tr>`;
}

const HEAD = ['Event', 'When', 'By', 'Reason'].map((name) => html`<th scope="col">${name}</th>`);

/** Returns the history. `resume` removes a suspension from the record. */
export function historyTable(kin: WithKin): Html {
  return html`<div class="wide" tabindex="0" role="region" aria-label="History"><table>
          <thead><tr>${HEAD}</tr></thead>
          <tbody>${entriesOf(kin).map(row)}</tbody>
        </table></div>
      <p><small>The history comes from the record of the key. It does not include suspensions that
        have ended.</small></p>`;
}
