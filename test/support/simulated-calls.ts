/** The calls of a simulation, and the answers that each may give. */
import { isAccessError, isStoreError } from 'keyscope';
import { answerOf, currentOf, type Ledger, type Window } from './ledger.ts';
import {
  AUTHORITY,
  type Command,
  FIRST_DIGEST,
  FIRST_RECORD,
  INPUT,
  OTHER,
  type Process,
  SECOND_DIGEST,
  SECOND_TEXT,
} from './simulated-process.ts';

/** The overlap of a rotation, if it has one. */
export const OVERLAP_MS = 3_000;

/** The authority of the first key. */
const UNDER_FIRST = { ...AUTHORITY, keyId: FIRST_RECORD.keyId } as const;

/** The knowledge at the end of a call. */
export interface Knowledge {
  readonly ledger: Ledger;
  readonly time: number;
}

/** Returns the answer: for `verify`, in the words of the ledger; for keys, their text. */
export async function perform(
  process: Process,
  { act }: Command,
  text: string,
  keyId: string,
): Promise<string | undefined> {
  const { keyring } = process;
  switch (act) {
    case 'verify': {
      const { accessibleEntities } = await keyring.verify(text);
      return `passed for ${accessibleEntities.join()}`;
    }
    case 'issue': {
      // The call makes its key before it waits for the store.
      process.makesSecond = true;
      const { key } = await keyring.issue(INPUT, AUTHORITY);
      if (key !== SECOND_TEXT) throw new Error('`issue` did not make the second key');
      return key;
    }
    case 'issue under':
      return (await keyring.issue(INPUT, UNDER_FIRST)).key;
    case 'rotate under':
      return (await keyring.rotate(keyId, { overlapMs: 0 }, UNDER_FIRST)).key;
    case 'resume under':
      await keyring.resume(keyId, UNDER_FIRST);
      return undefined;
    case 'rotate':
      return (await keyring.rotate(keyId, { overlapMs: 0 }, AUTHORITY)).key;
    case 'rotate with overlap':
      return (await keyring.rotate(keyId, { overlapMs: OVERLAP_MS }, AUTHORITY)).key;
    case 'withdraw':
      await keyring.withdraw(keyId, { entityId: OTHER });
      return undefined;
    case 'revokeLineage':
      await keyring.revokeLineage(keyId, AUTHORITY);
      return undefined;
    default:
      await keyring[act](keyId, AUTHORITY);
      return undefined;
  }
}

/** Returns the fault if a call may not have succeeded like this. */
export function faultIn(
  { ledger, time }: Knowledge,
  { act }: Command,
  answer: string | undefined,
  window: Window,
): string | undefined {
  const { life, from } = window;
  const current = currentOf(life);
  const seen = life.versions.slice(from).map(({ record }) => record);
  switch (act) {
    case 'verify': {
      const allowed = ledger.answersIn(window, time);
      return allowed.has(answer ?? '') ? undefined : `${answer}, not ${[...allowed].join(' or ')}`;
    }
    case 'issue':
    case 'issue under':
      ledger.handOut(ledger.ofText(answer ?? ''));
      return undefined;
    case 'rotate':
    case 'rotate under':
    case 'rotate with overlap':
      ledger.handOut(ledger.ofText(answer ?? ''));
      return current?.retireAt === null ? 'the key is not retired' : undefined;
    case 'revokeLineage':
      ledger.close(life);
      return current?.revokedAt === null ? 'the key is not revoked' : undefined;
    case 'revoke':
      return current?.revokedAt === null ? 'the key is not revoked' : undefined;
    case 'suspend':
      return seen.some((each) => each?.suspendedAt !== null) ? undefined : 'it was not suspended';
    case 'resume under':
      return life.isResumedLate ? 'a revoked key resumed it' : undefined;
    case 'resume':
      return seen.some((each) => each?.suspendedAt === null) ? undefined : 'it was not resumed';
    case 'withdraw':
      return current?.withdrawn.includes(OTHER) ? undefined : 'the entity is still addressed';
  }
}

/** Returns the fault if a call may not have been refused like this. */
export function faultInRefusal(
  { ledger, time }: Knowledge,
  process: Process,
  { act }: Command,
  error: unknown,
  window: Window,
): string | undefined {
  const seen = window.life.versions.slice(window.from).map(({ record }) => record);
  if (isStoreError(error)) {
    const isTaken = act === 'issue' && currentOf(ledger.ofDigest(SECOND_DIGEST)) !== null;
    const isKnown = process.failures > 0 || isTaken;
    return isKnown ? undefined : `broke, ${error.message}`;
  }
  if (!isAccessError(error)) return String(error);
  const { code, reason } = error;
  const refusal = `refused, ${code} ${reason}`;
  if (act.endsWith(' under')) {
    // The first key, or the resumed one, must have changed. `check` holds the law of these calls.
    const first = ledger.ofDigest(FIRST_DIGEST);
    return first.versions.length > 1 || window.life.versions.length > 1 ? undefined : refusal;
  }
  if (act === 'verify' || (code === 'conflict' && reason !== 'already_ended')) {
    const allowed = ledger.answersIn(window, time);
    return allowed.has(reason) ? undefined : `${refusal}, not ${[...allowed].join(' or ')}`;
  }
  if (reason === 'no_such_key') return seen.includes(null) ? undefined : refusal;
  if (act === 'withdraw') {
    const isAddressed = seen.some((each) => each?.accessibleEntities.includes(OTHER));
    return isAddressed ? refusal : undefined;
  }
  if (reason !== 'already_ended') return refusal;
  const answers = seen.flatMap((each) => [answerOf(each, window.since), answerOf(each, time)]);
  const hasEnded = answers.some((each) => !each.startsWith('passed'));
  if (act === 'resume') return answers.includes('revoked') ? undefined : refusal;
  if (act === 'suspend') {
    return answers.includes('revoked') || answers.includes('retired') ? undefined : refusal;
  }
  if (!act.startsWith('rotate')) return refusal;
  const isRetired = seen.some((each) => each !== null && each.retireAt !== null);
  return hasEnded || isRetired || seen.length > 1 ? undefined : refusal;
}
