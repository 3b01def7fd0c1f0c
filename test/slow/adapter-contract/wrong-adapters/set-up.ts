/** Adapters that detect invalid options only at a request. */
import { admit, RIGHT } from '../right-adapter.ts';
import { KEYRING, OPERATION, REALM } from '../titles.ts';
import type { WrongAdapters } from '../wrong-adapter.ts';

export const WRONG_SET_UPS: WrongAdapters = {
  'looks operations up at the first request': {
    noticedBy: [OPERATION],
    change: () => ({ declare: (setup) => RIGHT.declare(setup, 'whoami') }),
  },
  'writes the challenge at the first denial': {
    noticedBy: [REALM],
    change: () => ({
      declare: (setup, operation) => RIGHT.declare({ ...setup, realm: 'acme' }, operation),
    }),
  },
  'looks for its keyring at the first request': {
    noticedBy: [KEYRING],
    change: () => ({
      declare(setup, operation) {
        const later = { admit, policy: { requires() {} } } as never;
        RIGHT.declare({ ...setup, keyring: setup.keyring ?? later }, operation);
      },
    }),
  },
  'throws another error than TypeError at set-up': {
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
