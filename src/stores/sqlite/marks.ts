/** Which statement writes a mark, and with which parameters. */
import type { Mark, RevokeMark, SuspendMark } from '../../core/store.js';
import type { Value } from '../rows.js';

/** The statement of a mark, and its parameters. */
export interface MarkWrite {
  readonly statement: Mark['kind'];
  readonly values: readonly Value[];
}

/** Each is one conditional UPDATE. Without types, a caller may leave out what is null or empty. */
export function toMarkWrite(keyId: string, mark: Mark): MarkWrite {
  return { statement: mark.kind, values: valuesOf(keyId, mark) };
}

function valuesOf(keyId: string, mark: Mark): readonly Value[] {
  const { at } = mark;
  switch (mark.kind) {
    case 'revoke':
      return [at, at, ...whoAndWhy(mark), mark.seal ?? null, keyId];
    case 'suspend':
      return [at, at, ...whoAndWhy(mark), keyId];
    case 'retire': {
      const withdrawn = JSON.stringify(mark.withdrawn ?? []);
      return [at, mark.changedAt ?? at, ...whoAndWhy(mark), keyId, withdrawn];
    }
    case 'resume':
      return [at, keyId];
    case 'withdraw':
      return [mark.entityUuid, at, keyId, mark.entityUuid];
  }
}

/** `ended_by` and `end_reason`. */
function whoAndWhy(mark: Pick<RevokeMark | SuspendMark, 'by' | 'reason'>): readonly Value[] {
  return [mark.by ?? null, mark.reason ?? null];
}
