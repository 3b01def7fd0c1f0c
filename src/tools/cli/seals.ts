/** Compares the keyring's `deployment` with what stored keys were sealed under. */
import { isObject } from '../../core/input.js';
import type { KeyRecord } from '../../core/record.js';
import type { CommandConfig } from './define-config.js';
import type { Verdict } from './finding.js';

/** How many keys are looked at. */
const SAMPLE = 50;

/** What the keyring sees of a row with a pepper: its seal matches, or not, or nobody can tell. */
type Seal = 'sound' | 'broken' | 'not known';

/** Looks at some keys: a wrong deployment breaks the seal of each of them, an edit that of one. */
export async function checkSeals(config: CommandConfig): Promise<Verdict> {
  const { store } = config;
  if (store.listAll === undefined) return ['not known', 'the store cannot list its keys'];
  const { items } = await store.listAll({ after: null, limit: SAMPLE }, { fresh: true });
  const seals = new Map<string, Seal>();
  for (const row of items) {
    const isPeppered = isObject(row) && String(row.digest).startsWith('h1.');
    if (isPeppered) seals.set(row.keyId, await sealOf(config, row));
  }
  const broken = [...seals].filter(([, seal]) => seal === 'broken').map(([keyId]) => keyId);
  const sound = [...seals.values()].filter((seal) => seal === 'sound').length;
  if (broken.length === 0 && sound === 0) return ['not known', 'no key has a seal to compare with'];
  if (broken.length === 0) return ['ok', `the seals of ${sound} keys match`];
  if (sound > 0) {
    return ['to do', `these rows were edited by hand, look at them: ${broken.join(' ')}`];
  }
  const instead =
    'is `deployment` what it was when the keys were made, and each pepper its secret?';
  return ['to do', `the seal of none of ${broken.length} keys matches: ${instead}`];
}

async function sealOf({ keyring }: CommandConfig, row: KeyRecord): Promise<Seal> {
  const { keyId, entityUuid } = row;
  const info = await keyring.get(keyId, { entityUuid });
  // A key of another prefix is another keyring's.
  if (info === null || !('tampered' in info) || info.state === 'orphaned') return 'not known';
  return info.tampered ? 'broken' : 'sound';
}
