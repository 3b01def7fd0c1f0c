/** Says what was found: for people, as JSON or as SARIF. No key is in it. */
import { escapeInvisible, type Output } from '../output.js';
import { shownKey } from '../shown-keys.js';
import type { Known } from './known.js';
import { createSarifReport } from './sarif.js';
import { type Report, shownKnown, shownPlace } from './shown-find.js';

/** How finds are printed. */
export type ReportFormat = 'text' | 'json' | 'sarif';

/** Returns what prints them. */
export function createReport(output: Output, format: ReportFormat, version: string): Report {
  if (format === 'sarif') return createSarifReport(output, version);
  return format === 'json' ? createJsonReport(output) : createTextReport(output);
}

function createJsonReport(output: Output): Report {
  return {
    found: (shown, known) =>
      output.json(known === undefined ? shown : { ...shown, known: knownFields(known) }),
    end: async () => {},
  };
}

function knownFields(known: Known) {
  if (known === null) return null;
  const { keyId, entityUuid, state } = known;
  return { keyId, entityUuid, state, name: 'name' in known ? known.name : null };
}

function createTextReport(output: Output): Report {
  return {
    async found(shown, known) {
      const key = output.paint('strong', shownKey(shown));
      const place = escapeInvisible(shownPlace(shown));
      await output.line(`${place}: ${key}${known === undefined ? '' : ` ${shownKnown(known)}`}`);
    },
    end: async () => {},
  };
}
