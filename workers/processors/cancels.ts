import { tooLate } from '#shared/ask.ts';
import type { Messages } from '#shared/backplane/index.ts';
import { ASK_CANCEL, AskCancel } from '#shared/queues/define-ask.ts';

/** Questions under way in this process, to be aborted when no process waits for the answer any more. */
export interface Cancels extends Disposable {
  of(askID: string): { signal: AbortSignal } & Disposable;
}

export function createCancels(messages: Messages): Cancels {
  const underWay = new Map<string, AbortController>();
  const unsubscribe = messages.subscribe(ASK_CANCEL, (message) => {
    const cancel = AskCancel.safeParse(message);
    if (cancel.success) underWay.get(cancel.data.askID)?.abort(tooLate({ begun: true, gone: true }));
  });
  return {
    of(askID) {
      const controller = new AbortController();
      underWay.set(askID, controller);
      return { signal: controller.signal, [Symbol.dispose]: () => void underWay.delete(askID) };
    },
    [Symbol.dispose]: unsubscribe,
  };
}
