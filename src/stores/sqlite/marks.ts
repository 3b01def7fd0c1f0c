/** The UPDATE that writes each mark, for SQLite and D1. */
import { MAX_TIME } from '../../core/input.js';
import type { Mark } from '../../core/store.js';

/** The later of the stored time and the mark's, because the clocks of processes differ. */
const CHANGED = `changed_at = max(ifnull(changed_at, ${-MAX_TIME}), ?)`;

/** The statements. Parameters are positional, because better-sqlite3 binds no numbered ones. */
export const MARKS: Readonly<Record<Mark['kind'], string>> = {
  revoke: `
    UPDATE keyscope_keys
    SET revoked_at = ifnull(revoked_at, ?), ${CHANGED}, ended_by = ?, end_reason = ?, seal = ?
    WHERE key_id = ? AND iif(revoked_at IS NULL, ? IS NULL, seal = ?)`,

  suspend: `
    UPDATE keyscope_keys SET suspended_at = ?, ${CHANGED}, ended_by = ?, end_reason = ?
    WHERE key_id = ? AND revoked_at IS NULL AND suspended_at IS NULL`,

  // Compares `withdrawn` with a JSON list.
  retire: `
    UPDATE keyscope_keys SET retire_at = ?, ${CHANGED}, ended_by = ?, end_reason = ?
    WHERE key_id = ? AND revoked_at IS NULL AND suspended_at IS NULL AND retire_at IS NULL
      AND CASE WHEN json_valid(withdrawn) THEN json(withdrawn) = ? END`,

  resume: `
    UPDATE keyscope_keys SET suspended_at = NULL, ${CHANGED}, ended_by = NULL, end_reason = NULL
    WHERE key_id = ? AND revoked_at IS NULL AND suspended_at IS NOT NULL`,

  withdraw: `
    UPDATE keyscope_keys SET withdrawn = json_insert(withdrawn, '$[#]', ?), ${CHANGED}
    WHERE key_id = ? AND CASE WHEN json_valid(withdrawn) THEN json_type(withdrawn) = 'array'
      AND NOT EXISTS (SELECT 1 FROM json_each(withdrawn) WHERE value = ?) END`,
};
