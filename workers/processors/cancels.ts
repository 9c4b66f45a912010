import type { Messages } from '#shared/messaging/backplane/index.ts';
import { RPC_CANCEL, RPCCancel } from '#shared/messaging/queues/define-rpc.ts';
import { tooLate } from '#shared/messaging/rpc.ts';

/** Requests under way in this process, to be aborted when no process waits for the response any more. */
export interface Cancels extends Disposable {
  of(askID: string): { signal: AbortSignal } & Disposable;
}

export function createCancels(messages: Messages): Cancels {
  const underWay = new Map<string, Set<AbortController>>();
  const unsubscribe = messages.subscribe(RPC_CANCEL, (message) => {
    const cancel = RPCCancel.safeParse(message);
    if (!cancel.success) return;
    for (const controller of underWay.get(cancel.data.askID) ?? [])
      controller.abort(tooLate({ begun: true, isAborted: true }));
  });
  return {
    of(askID) {
      const controller = new AbortController();
      // A set, because a job may be delivered twice, and both deliveries then wait for a permit.
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
