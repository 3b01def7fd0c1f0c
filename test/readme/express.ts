/** The names in a block for Express. A block that names no framework gets these, too. */
import type { Express as App } from 'express';
import { createGuard } from '../../examples/express/adapter.ts';
import { keyring, type session } from './names.ts';

/** As `@types/passport` declares it, with what a person of this service has. */
declare global {
  namespace Express {
    interface User extends Readonly<typeof session> {}
    interface Request {
      user?: User;
    }
  }
}

export * from './names.ts';
export { createGuard };
export declare const app: App;
export const guard = createGuard({ keyring });
