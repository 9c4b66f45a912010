import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';

export function invalidParams(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}

/** The error of a tool of which a resource is made. */
export function internalError(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InternalError, message);
}
