/**
 * Events as a table that people can read: who did what to which key, when, why, and what came of
 * it.
 */
import type { KeyringEvent } from 'keyscope';
import { HOUR } from './keyring.ts';

/** What a test calls the ids of its keys and entities. */
export type Names = ReadonlyMap<string, string>;

/** One line an event. Set KEYSCOPE_PRINT_TRAIL to see the tables on the console. */
export function trailOf(events: readonly KeyringEvent[], start: number, names: Names): string[] {
  const lines = events.map((event) => lineOf(event, start, names));
  const { KEYSCOPE_PRINT_TRAIL } = process.env;
  if (KEYSCOPE_PRINT_TRAIL !== undefined) console.log(lines.join('\n'));
  return lines;
}

function lineOf(event: KeyringEvent, start: number, names: Names): string {
  const { type, time, keyId, entityUuid } = event;
  const name = (id: string | null) => (id === null ? '-' : (names.get(id) ?? 'somebody'));
  const hours = `+${(time - start) / HOUR}h`;
  const what = `${type} ${name(keyId)} of ${name(entityUuid)}`;
  return [hours, whoAndWhy(event), what, detailsOf(event, name)].join(' | ');
}

/** Of what management does; a request says neither. */
function whoAndWhy(event: KeyringEvent): string {
  if (event.type === 'access.granted' || event.type === 'access.denied') return 'a request';
  const { actor = 'nobody', reason } = event;
  return reason === undefined ? actor : `${actor}: ${reason}`;
}

/** What each kind of event says besides. */
function detailsOf(event: KeyringEvent, name: (id: string | null) => string): string {
  switch (event.type) {
    case 'key.issued':
      return `${event.scopes.join(' ')} for ${event.accessibleEntities.map(name).join(' ')}`;
    case 'key.rotated':
      return [
        `from ${name(event.rotatedFrom)}:`,
        `${event.scopes.join(' ')} for ${event.accessibleEntities.map(name).join(' ')}`,
      ].join(' ');
    case 'key.withdrawn':
      return `without ${name(event.withdrawnEntity)}`;
    case 'management.denied':
      return [event.action, event.code, event.denialReason, ...(event.excess ?? []).map(excess)]
        .join(' ')
        .trim();
    case 'access.granted':
      return event.operation;
    case 'access.denied':
      return `${event.operation} ${event.code} ${event.reason}`;
    default:
      return '';
  }

  function excess(text: string): string {
    return text.includes('-') ? name(text) : text;
  }
}
