/** Adapters that find out when they are asked what they could have known before. */
import { admit, RIGHT } from '../right-adapter.ts';
import { KEYRING, OPERATION, REALM } from '../titles.ts';
import type { WrongAdapters } from '../wrong-adapter.ts';

export const WRONG_SET_UPS: WrongAdapters = {
  'looks operations up when it is asked': {
    noticedBy: [OPERATION],
    change: () => ({ declare: (setup) => RIGHT.declare(setup, 'whoami') }),
  },
  'writes the first challenge when somebody is denied': {
    noticedBy: [REALM],
    change: () => ({
      declare: (setup, operation) => RIGHT.declare({ ...setup, realm: 'acme' }, operation),
    }),
  },
  'looks for its keyring when it is asked': {
    noticedBy: [KEYRING],
    change: () => ({
      declare: (setup, operation) =>
        RIGHT.declare({ ...setup, keyring: { admit } as never }, operation),
    }),
  },
  'says at set-up that it cannot, with another error': {
    noticedBy: [OPERATION, REALM, KEYRING],
    change: () => ({
      declare(setup, operation) {
        try {
          RIGHT.declare(setup, operation);
        } catch {
          throw new Error('cannot');
        }
      },
    }),
  },
};
