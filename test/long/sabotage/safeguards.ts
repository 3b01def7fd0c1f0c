/** Everything that `npm run lab -- sabotage` switches off. */
import { ADMIN } from './admin.ts';
import { COMMAND } from './command.ts';
import { CORE } from './core.ts';
import { ENTITIES } from './entities.ts';
import { EXAMPLES } from './examples.ts';
import { FRAMEWORKS } from './frameworks.ts';
import { KEYLESS } from './keyless.ts';
import { LEAKS } from './leaks.ts';
import { LISTS } from './lists.ts';
import { LOCK } from './lock.ts';
import { DOCUMENTS } from './openapi.ts';
import type { Safeguard } from './safeguard.ts';
import { ORDERS } from './schedules.ts';
import { STORES } from './stores.ts';
import { VISIBILITY } from './visibility.ts';
import { WINGS } from './wings.ts';

export const SAFEGUARDS: readonly Safeguard[] = [
  ...CORE,
  ...ENTITIES,
  ...ORDERS,
  ...VISIBILITY,
  ...STORES,
  ...WINGS,
  ...ADMIN,
  ...DOCUMENTS,
  ...KEYLESS,
  ...LEAKS,
  ...LISTS,
  ...LOCK,
  ...COMMAND,
  ...EXAMPLES,
  ...FRAMEWORKS,
];
