/** SARIF 2.1.0 (OASIS), which code hosts read. Written as it comes, in constant memory. */
import { isAbsolute, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { escapeInvisible, type Output } from '../output.js';
import { shownKey } from '../shown-keys.js';
import type { Known } from './known.js';
import type { Tally } from './scanner.js';
import { type Report, type ShownFind, shownKnown } from './shown-find.js';

const RULE = {
  id: 'keyscope/api-key',
  name: 'ApiKey',
  shortDescription: { text: 'An API key' },
  fullDescription: { text: 'A string with the shape and the checksum of an API key.' },
  help: { text: 'Revoke the key first. Then remove it, from the history too.' },
  defaultConfiguration: { level: 'error' },
};

/** Returns what prints one log. */
export function createSarifReport(output: Output, version: string): Report {
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
      await output.line(`${comma}${escapeInvisible(JSON.stringify(resultOf(shown, known)))}`);
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
  const { commit, path, line, column, prefix } = shown;
  const said = known === undefined ? '' : ` (${shownKnown(known)})`;
  const when = commit === null ? '' : ` in commit ${commit}`;
  const region = { startLine: line, startColumn: column, endColumn: column + lengthOf(prefix) };
  const artifactLocation = { uri: path === null ? 'message' : uriOf(path) };
  return {
    ruleId: RULE.id,
    ruleIndex: 0,
    level: 'error',
    message: { text: `The API key ${shownKey(shown)}${said}${when}.` },
    locations: [{ physicalLocation: { artifactLocation, region } }],
    ...(commit === null ? {} : { properties: { commit } }),
  };
}

/** Of a key with this prefix. */
function lengthOf(prefix: string): number {
  return prefix.length + 33;
}

function uriOf(path: string): string {
  if (isAbsolute(path)) return pathToFileURL(resolve(path)).href;
  return path.split('/').map(encodeURIComponent).join('/');
}
