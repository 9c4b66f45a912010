/** Why the outputs of a workflow are no answer to a sender. */
export class AnswerFault extends Error {}
