/** Compares the peppers in the store with those that the config names. */
import type { PepperUse } from '../../management/reports/pepper-report.js';
import type { CommandConfig } from './define-config.js';

/** Whether a pepper is among those of the config; null where the config does not say. */
export function isConfigured({ pepper }: PepperUse, { peppers }: CommandConfig): boolean | null {
  if (peppers === undefined) return null;
  const ids: readonly (string | null)[] = peppers === 'none' ? [null] : peppers;
  return ids.includes(pepper);
}
