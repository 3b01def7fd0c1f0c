/**
 * The marks as SQL: one conditional UPDATE for each kind. If its condition holds, the row changes,
 * so it does not matter whether the driver counts matched or changed rows.
 */
import type { Mark, RetireMark, RevokeMark, SuspendMark } from '../../core/store.js';
import type { Value } from '../rows.js';
import { UNCHECKED } from './statements.js';

/** A statement, with its values. */
export interface Statement {
  readonly sql: string;
  readonly values: Value[];
}

export const REVOKE: string = `${UNCHECKED} UPDATE keyscope_keys
  SET revoked_at = ?, changed_at = ?, ended_by = ?, end_reason = ?, seal = ?
  WHERE key_id = ? AND revoked_at IS NULL`;

const SUSPEND = `UPDATE keyscope_keys
  SET suspended_at = ?, changed_at = ?, ended_by = ?, end_reason = ?
  WHERE key_id = ? AND revoked_at IS NULL AND suspended_at IS NULL`;

const RESUME = `UPDATE keyscope_keys
  SET suspended_at = NULL, changed_at = ?, ended_by = NULL, end_reason = NULL
  WHERE key_id = ? AND revoked_at IS NULL AND suspended_at IS NOT NULL`;

/** The servers put a space after each comma of a list that they append to. */
const RETIRE = `UPDATE keyscope_keys
  SET retire_at = ?, changed_at = ?, ended_by = ?, end_reason = ?
  WHERE key_id = ? AND retire_at IS NULL AND revoked_at IS NULL AND suspended_at IS NULL
    AND REPLACE(withdrawn, ' ', '') = ?`;

/** A list that is none, or no JSON, stays as it is. */
const WITHDRAW = `UPDATE keyscope_keys
  SET withdrawn = JSON_ARRAY_APPEND(withdrawn, '$', CONVERT(? USING utf8mb4)), changed_at = ?
  WHERE key_id = ? AND CASE WHEN JSON_VALID(withdrawn) AND JSON_TYPE(withdrawn) = 'ARRAY'
    THEN NOT JSON_CONTAINS(withdrawn, JSON_QUOTE(?)) END`;

/**
 * The statement that writes a mark if its condition holds.
 *
 * @throws TypeError on an unknown kind.
 */
export function markStatement(keyId: string, mark: Mark): Statement {
  switch (mark.kind) {
    case 'revoke':
      return revoke(keyId, mark);
    case 'suspend':
      return suspend(keyId, mark);
    case 'resume':
      return { sql: RESUME, values: [mark.at, keyId] };
    case 'retire':
      return retire(keyId, mark);
    case 'withdraw': {
      const { at, entityUuid } = mark;
      return { sql: WITHDRAW, values: [entityUuid, at, keyId, entityUuid] };
    }
    default:
      throw new TypeError('mark: kind is revoke, suspend, resume, retire or withdraw');
  }
}

// What a caller without types leaves out is null.

function revoke(
  keyId: string,
  { at, by = null, reason = null, seal = null }: RevokeMark,
): Statement {
  return { sql: REVOKE, values: [at, at, by, reason, seal, keyId] };
}

function suspend(keyId: string, { at, by = null, reason = null }: SuspendMark): Statement {
  return { sql: SUSPEND, values: [at, at, by, reason, keyId] };
}

function retire(keyId: string, mark: RetireMark): Statement {
  const { at, changedAt = at, by = null, reason = null, withdrawn = [] } = mark;
  const expected = JSON.stringify(withdrawn);
  return { sql: RETIRE, values: [at, changedAt, by, reason, keyId, expected] };
}
