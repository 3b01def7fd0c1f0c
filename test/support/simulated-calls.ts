/** The calls of a simulation, and the answers each may give, depending on what happened. */
import { isAccessError, isStoreError } from 'keyscope';
import { answerOf, currentOf, type Ledger, type Window } from './ledger.ts';
import {
  AUTHORITY,
  type Command,
  INPUT,
  OTHER,
  type Process,
  SECOND_DIGEST,
} from './simulated-process.ts';

/** How long a rotation with overlap keeps the predecessor live. */
export const OVERLAP_MS = 3_000;

/** The facts known when a call ends. */
export interface Knowledge {
  readonly ledger: Ledger;
  readonly time: number;
}

/** Returns the answer: for `verify` as the ledger writes it, for keys their text. */
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
      // It creates its key before it waits for anything.
      process.isIssuing = true;
      const issued = keyring.issue(INPUT, AUTHORITY);
      process.isIssuing = false;
      return (await issued).key;
    }
    case 'rotate':
      return (await keyring.rotate(keyId, { overlapMs: 0 }, AUTHORITY)).key;
    case 'rotate with overlap':
      return (await keyring.rotate(keyId, { overlapMs: OVERLAP_MS }, AUTHORITY)).key;
    case 'withdraw':
      await keyring.withdraw(keyId, { entityUuid: OTHER });
      return undefined;
    case 'revokeLineage':
      await keyring.revokeLineage(keyId, AUTHORITY);
      return undefined;
    default:
      await keyring[act](keyId, AUTHORITY);
      return undefined;
  }
}

/** The fault in a successful answer, if any. */
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
      ledger.handOut(ledger.ofText(answer ?? ''));
      return undefined;
    case 'rotate':
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
    case 'resume':
      return seen.some((each) => each?.suspendedAt === null) ? undefined : 'it was not resumed';
    case 'withdraw':
      return current?.withdrawn.includes(OTHER) ? undefined : 'the entity is still addressed';
  }
}

/** The fault in a refusal, if any. */
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
  if (act === 'verify' || code === 'invalid_token') {
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
