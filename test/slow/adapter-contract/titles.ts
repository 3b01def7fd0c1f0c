/** The names of the contract's tests, by what a wrong adapter gets wrong. */

export const LET_IN = 'a key that holds the scope is let in, with its principal and its entity';
export const NO_STORE = 'an answer to a key is not to be stored';
export const NONE = 'no credential is denied, byte for byte as toResponse says';
export const OTHER = 'another scheme and a malformed credential are denied';
export const LONG = 'a credential of more than 16 KiB is denied';
export const TWO = 'two Authorization lines are denied, whatever they are';
export const ELSEWHERE = 'a key anywhere else is no credential';
export const NAMED = 'no other header says who is calling';
export const ALIKE = 'keys that are refused are answered alike, whatever the reason';
export const SCOPE = 'a key without the scope is denied, and the challenge names it';
export const ENTITY = 'the entity that was checked is handed to the handler';
export const BAD_ENTITY = 'an entity that is not accessible, repeated or malformed is denied';
export const BROKEN = 'a broken store is 503, and no bad key';
export const BUG = 'a bug lets nobody in, and is no denial';
export const THROWS = 'a handler that throws runs once, and is no denial';
export const ONCE = 'the keyring is asked once a request, for the operation of the route';
export const APART = '20 requests at once: each handler has its own caller';
export const HEAD = 'HEAD is denied as GET is, without a body';
export const OPERATION = 'an operation that the policy lacks is refused at set-up';
export const REALM = 'a realm that no header can carry is refused at set-up';
export const KEYRING = 'a guard without a keyring is refused at set-up';

export const DENIALS = [NONE, OTHER, LONG, TWO, ELSEWHERE, NAMED, ALIKE, SCOPE, BAD_ENTITY, BROKEN];
/** Of these, the ones that have to have a challenge. */
export const CHALLENGED = DENIALS.filter((name) => name !== BROKEN);
