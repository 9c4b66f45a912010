import type { Messages } from '#shared/messaging/backplane/index.ts';
import { ASK_CANCEL, AskCancel } from '#shared/messaging/queues/define-ask.ts';
import { tooLate } from '#shared/messaging/rpc.ts';

/** Questions under way in this process, to be aborted when no process waits for the answer any more. */
export interface Cancels extends Disposable {
  of(askID: string): { signal: AbortSignal } & Disposable;
}

export function createCancels(messages: Messages): Cancels {
  const underWay = new Map<string, Set<AbortController>>();
  const unsubscribe = messages.subscribe(ASK_CANCEL, (message) => {
    const cancel = AskCancel.safeParse(message);
    if (!cancel.success) return;
    for (const controller of underWay.get(cancel.data.askID) ?? [])
      controller.abort(tooLate({ begun: true, gone: true }));
  });
  return {
    of(askID) {
      const controller = new AbortController();
      // A job that is delivered twice waits twice for its turn.
      const controllers = underWay.get(askID) ?? new Set();
      underWay.set(askID, controllers.add(controller));
      return {
        signal: controller.signal,
        [Symbol.dispose]() {
          controllers.delete(controller);
          if (controllers.size === 0) underWay.delete(askID);
        },
      };
    },
    [Symbol.dispose]: unsubscribe,
  };
}
