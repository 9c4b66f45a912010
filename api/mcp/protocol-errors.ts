import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';

export function invalidParams(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}

/** The error of a tool call that was made to read a resource. */
export function internalError(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InternalError, message);
}
