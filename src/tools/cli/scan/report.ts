/**
 * Prints finds as lines, as JSON or as SARIF 2.1.0 (OASIS), which code hosts read. Never prints a
 * key.
 */
import { isAbsolute, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SECRET_LENGTH } from '../../../core/key.js';
import { escapeSarif, toUri } from '../../escape.js';
import type { Output } from '../output.js';
import { shownKey } from '../shown-keys.js';
import type { Known } from './known-keys.js';
import { type Found, type Tally, withoutKeys } from './scanner.js';

/** A format for finds. */
export type ReportFormat = 'text' | 'json' | 'sarif';

/** Prints finds. */
export interface Report {
  /** @param known The key in the keyring; undefined if it was not looked up. */
  found(shown: ShownFind, known: Known | undefined): Promise<void>;
  end(tally: Tally): Promise<void>;
}

/** Makes a report. */
export function createReport(output: Output, format: ReportFormat, version: string): Report {
  if (format === 'sarif') return createSarifReport(output, version);
  return format === 'json' ? createJsonReport(output) : createTextReport(output);
}

/** A find without its key. */
export interface ShownFind {
  readonly commit: string | null;
  /** Null for the message of a commit. */
  readonly path: string | null;
  /** Null for a key in the name of the file. */
  readonly line: number | null;
  readonly column: number | null;
  readonly prefix: string;
  readonly hint: string;
}

/** Removes the key, and masks keys in the path. */
export function shownFind(found: Found, prefixes: readonly string[]): ShownFind {
  const { commit, line, column } = found;
  const { prefix, hint } = found.find;
  const path = found.path === null ? null : withoutKeys(found.path, prefixes);
  return { commit, path, line, column, prefix, hint };
}

/** Formats a place as `git grep` does. */
function shownPlace({ commit, path, line, column }: ShownFind): string {
  const before = commit === null ? [] : [commit.slice(0, 12)];
  const within = line === null ? ['(name)'] : [line, column];
  return [...before, path ?? '(message)', ...within].join(':');
}

/** Describes a key in the keyring. */
function shownKnown(known: Known): string {
  if (known === null) return 'unknown to the keyring';
  const name = 'name' in known ? ` “${known.name}”` : '';
  return `${known.state}, key id ${known.keyId}, entity ${known.entityUuid}${name}`;
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
      const key = { style: 'strong', text: shownKey(shown) } as const;
      const said = known === undefined ? '' : ` ${shownKnown(known)}`;
      await output.line(`${shownPlace(shown)}: `, key, said);
    },
    end: async () => {},
  };
}

// ── SARIF ───────────────────────────────────────────────────────────────────────────────────────

const RULE = {
  id: 'keyscope/api-key',
  name: 'ApiKey',
  shortDescription: { text: 'An API key' },
  fullDescription: { text: 'A string with the format and checksum of an API key.' },
  help: { text: 'Revoke the key first. Then remove it, also from the history.' },
  defaultConfiguration: { level: 'error' },
};

/** Prints one log incrementally, in constant memory. */
function createSarifReport(output: Output, version: string): Report {
  let count = 0;
  async function begin(): Promise<void> {
    const schema = 'https://json.schemastore.org/sarif-2.1.0.json';
    const driver = JSON.stringify({ name: 'keyscope', version, rules: [RULE] });
    await output.line(`{"$schema":"${schema}","version":"2.1.0","runs":[{`);
    await output.line(`"tool":{"driver":${driver}},"columnKind":"unicodeCodePoints","results":[`);
  }
  return {
    async found(shown, known) {
      if (count === 0) await begin();
      const comma = count === 0 ? '' : ',';
      count += 1;
      await output.line(`${comma}${JSON.stringify(resultOf(shown, known))}`);
    },
    async end(tally) {
      if (count === 0) await begin();
      await output.line(`],"invocations":[${JSON.stringify(invocationOf(tally))}]}]}`);
    },
  };
}

function invocationOf({ unread }: Tally) {
  const text = `${unread} could not be read.`;
  const notifications = unread === 0 ? [] : [{ level: 'error', message: { text } }];
  return { executionSuccessful: unread === 0, toolExecutionNotifications: notifications };
}

function resultOf(shown: ShownFind, known: Known | undefined) {
  const { commit, path } = shown;
  const said = known === undefined ? '' : ` (${shownKnown(known)})`;
  const when = commit === null ? '' : ` in commit ${commit}`;
  const artifactLocation = { uri: path === null ? 'message' : uriOf(path) };
  const physicalLocation = { artifactLocation, ...regionOf(shown) };
  return {
    ruleId: RULE.id,
    ruleIndex: 0,
    level: 'error',
    message: { text: escapeSarif(`The API key ${shownKey(shown)}${said}${when}.`) },
    locations: [{ physicalLocation }],
    ...(commit === null ? {} : { properties: { commit } }),
  };
}

/** A key in a name has no region, because it is not part of the text. */
function regionOf({ line, column, prefix }: ShownFind) {
  if (line === null || column === null) return {};
  const endColumn = column + prefix.length + 1 + SECRET_LENGTH;
  return { region: { startLine: line, startColumn: column, endColumn } };
}

function uriOf(path: string): string {
  if (isAbsolute(path)) return pathToFileURL(resolve(path)).href;
  return toUri(path);
}
