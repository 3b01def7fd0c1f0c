/** The keys that `list` and `revoke` select, by organization, state and creator. */
import { isEntityId } from '../../core/entity.js';
import type { KeyRecord, KeyState } from '../../core/record.js';
import type { Authority } from '../../management/authority.js';
import { allKeys } from './all-keys.js';
import { authorityOf, type Call, type ChosenConfig, whoOf } from './call.js';
import { suggest, usageError } from './command-error.js';
import { type Given, readList } from './options.js';
import type { Progress } from './progress.js';
import { KEY_STATES, pagesOf, type ShownKey } from './shown-keys.js';

/** A selection, as the command line has it. */
export interface Selection {
  /** The organization of `--entity`; null for all of them. */
  readonly authority: Authority | null;
  readonly who: Pick<Authority, 'actor' | 'reason'>;
  readonly addressing: boolean;
  readonly states: readonly KeyState[] | null;
  readonly createdBy: string | null;
}

/** Reads the options that select keys. */
export function readSelection(call: Call): Selection {
  const { given } = call;
  const addressing = given.flag('addressing');
  const createdBy = given.text('created-by') ?? null;
  const isOne = given.text('entity') !== undefined;
  if (addressing && !isOne) throw usageError('--addressing needs --entity <id>.');
  if (addressing && createdBy !== null) {
    throw usageError('--addressing shows no creators. Remove --created-by.');
  }
  return {
    authority: isOne ? authorityOf(call) : null,
    who: whoOf(call),
    addressing,
    states: readStates(given),
    createdBy,
  };
}

function readStates(given: Given): readonly KeyState[] | null {
  const text = given.text('state');
  if (text === undefined) return null;
  const states = readList(text);
  const wrong = states.find((state) => !isState(state));
  if (states.length > 0 && wrong === undefined) return states.filter(isState);
  const nearest = wrong === undefined ? '' : suggest(wrong, KEY_STATES);
  throw usageError(`--state takes ${KEY_STATES.join(', ')}.${nearest}`);
}

function isState(text: string): text is KeyState {
  return KEY_STATES.some((state) => state === text);
}

/** Yields the selected keys page by page: by organization, the newest of each first. */
export async function* selectedKeys(
  { keyring, store }: ChosenConfig,
  selection: Selection,
  progress: Progress,
): AsyncGenerator<readonly ShownKey[]> {
  const { authority, who, addressing } = selection;
  const all = authority === null ? await entitiesIn(store, progress) : [authority.entityId];
  for (const [index, entityId] of all.entries()) {
    if (all.length > 1) progress.show(`${index} of ${all.length} organizations`);
    for await (const keys of pagesOf(keyring, { entityId, ...who }, addressing)) {
      const selected = keys.filter((key) => isSelected(key, selection));
      if (selected.length === 0) continue;
      progress.clear();
      yield selected;
    }
  }
  progress.clear();
}

function isSelected(key: ShownKey, { states, createdBy }: Selection): boolean {
  if (states !== null && !states.includes(key.state)) return false;
  return createdBy === null || ('createdBy' in key && key.createdBy === createdBy);
}

/** Returns the organizations that own keys. In memory, because a store has no list of them. */
async function entitiesIn(
  store: ChosenConfig['store'],
  progress: Progress,
): Promise<readonly string[]> {
  const all = allKeys(store);
  if (all === null) {
    throw usageError('This store cannot list all organizations. Pass --entity <id>.');
  }
  const entities = new Set<string>();
  let count = 0;
  for await (const rows of all) {
    count += rows.length;
    progress.show(`${count} keys read`);
    for (const row of rows) {
      const { entityId } = Object(row) as Partial<KeyRecord>;
      if (isEntityId(entityId)) entities.add(entityId);
    }
  }
  return [...entities].sort();
}
