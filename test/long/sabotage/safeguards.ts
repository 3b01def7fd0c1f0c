/** Everything that `npm run test:sabotage` switches off. */
import { CORE } from './core.ts';
import { EXAMPLES } from './examples.ts';
import { FRAMEWORKS } from './frameworks.ts';
import type { Safeguard } from './safeguard.ts';
import { STORES } from './stores.ts';
import { WINGS } from './wings.ts';

export const SAFEGUARDS: readonly Safeguard[] = [
  ...CORE,
  ...STORES,
  ...WINGS,
  ...EXAMPLES,
  ...FRAMEWORKS,
];
