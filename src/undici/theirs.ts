/**
 * The names that come from the installed undici.
 *
 * @module
 */

import { installed, toName } from './installed.ts'

export const CloseEvent = toName('CloseEvent', installed)
export const DecoratorHandler = toName('DecoratorHandler', installed)
export const Dispatcher1Wrapper = toName('Dispatcher1Wrapper', installed)
export const ErrorEvent = toName('ErrorEvent', installed)
export const EventSource = toName('EventSource', installed)
export const FileReader = toName('FileReader', installed)
export const H2CClient = toName('H2CClient', installed)
export const MessageEvent = toName('MessageEvent', installed)
export const MockCallHistory = toName('MockCallHistory', installed)
export const MockCallHistoryLog = toName('MockCallHistoryLog', installed)
export const MockClient = toName('MockClient', installed)
export const MockPool = toName('MockPool', installed)
export const RedirectHandler = toName('RedirectHandler', installed)
export const RetryAgent = toName('RetryAgent', installed)
export const RetryHandler = toName('RetryHandler', installed)
export const RoundRobinPool = toName('RoundRobinPool', installed)
export const Socks5ProxyAgent = toName('Socks5ProxyAgent', installed)
export const WebSocket = toName('WebSocket', installed)
export const WebSocketError = toName('WebSocketError', installed)
export const WebSocketStream = toName('WebSocketStream', installed)
export const buildConnector = toName('buildConnector', installed)
export const cacheStores = toName('cacheStores', installed)
export const caches = toName('caches', installed)
export const createRedirectInterceptor = toName('createRedirectInterceptor', installed)
export const deleteCookie = toName('deleteCookie', installed)
export const getCookies = toName('getCookies', installed)
export const getSetCookies = toName('getSetCookies', installed)
export const interceptors = toName('interceptors', installed)
export const mockErrors = toName('mockErrors', installed)
export const parseCookie = toName('parseCookie', installed)
export const parseMIMEType = toName('parseMIMEType', installed)
export const ping = toName('ping', installed)
export const serializeAMimeType = toName('serializeAMimeType', installed)
export const setCookie = toName('setCookie', installed)
export const util = toName('util', installed)
