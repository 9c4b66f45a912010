import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';

export function invalidParams(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}

/** Of an answer of a tool that a resource is made of. */
export function internalError(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InternalError, message);
}
