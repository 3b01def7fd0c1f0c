/**
 * Everything that processes can do to each other, in every order of their steps: the part of `npm
 * run test:exhaustive` that takes seconds.
 */
import { describe, expect, it } from 'vitest';
import { FAMILIES, QUICK } from '../support/schedule-settings.ts';
import { explore, successorsOf } from '../support/schedules.ts';
import { Simulation } from '../support/simulation.ts';

describe('in every order of their steps', () => {
  it.each(QUICK)('$name keep every law', async ({ scenarios }) => {
    for (const { name, setting } of scenarios) {
      const { schedules, wrong } = await explore(setting);
      expect(wrong, name).toEqual([]);
      expect(schedules, name).toBeGreaterThan(1);
    }
  });
});

describe('the exploration', () => {
  const family = FAMILIES.find(({ name }) => name === 'two calls, of which two fail');
  const scenarios = family?.scenarios ?? [];

  // What makes it right to look at each state once.
  it('goes on in the same ways from equal states, in every schedule of two calls', async () => {
    let count = 0;
    for (const { name, setting } of scenarios) {
      if (!/^(?:revoke|suspend|withdraw) \| verify$/.test(name)) continue;
      const found = await successorsOf({ ...setting, ticks: [], failures: 1 });
      const { states } = await explore({ ...setting, ticks: [], failures: 1 });
      expect(found.size).toBe(states);
      for (const [state, answers] of found) expect([...answers], state).toHaveLength(1);
      count += found.size;
    }
    expect(count).toBeGreaterThan(100);
  });

  it('counts schedules as there are: 5 steps beside 3 are ordered in 56 ways', async () => {
    const scenario = scenarios.find(({ name }) => name === 'revoke | verify');
    if (scenario === undefined) throw new Error('no such scenario');
    const { schedules } = await explore({ ...scenario.setting, ticks: [], failures: 0 });
    expect(schedules).toBe(56);
  });

  it('leaves nothing running', async () => {
    const scenario = scenarios[0];
    if (scenario === undefined) throw new Error('no such scenario');
    const world = await Simulation.begin(scenario.setting);
    for (const option of world.options().slice(0, 2)) await world.take(option);
    await world.end();
    expect(world.options().filter(({ kind }) => kind === 'effect')).toEqual([]);
  });
});
