import type { Rights } from '#shared/access/policy/rights.ts';

/** Reads each permission once for a page of jobs, whose ticks often have the same creator and start the same workflow. */
export function memoizeRights(rights: Rights): Rights {
  const answers = new Map<string, Promise<boolean>>();
  return {
    may(run, access) {
      const { type, id, userID } = run.caller;
      const key = JSON.stringify([run.tenantID, type, id, userID, access]);
      const answer = answers.get(key) ?? rights.may(run, access);
      answers.set(key, answer);
      return answer;
    },
  };
}
