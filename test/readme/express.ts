/** The names in a block for Express. A block that names no framework gets these, too. */
import type { Express as App } from 'express';
import { createGuard } from '../../examples/express/adapter.ts';
import { keyring } from './names.ts';

/** What a person of this service has. */
export declare class Person {
  readonly entityId: string;
  readonly scopes: readonly string[];
  readonly email: string;
}

/** As `@types/express-session` declares it. */
declare global {
  namespace Express {
    interface Request {
      session: { person?: Person };
    }
  }
}

export * from './names.ts';
export { createGuard };
export declare const app: App;
export const guard = createGuard({ keyring });
