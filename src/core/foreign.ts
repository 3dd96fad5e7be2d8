/**
 * Private fields for objects created elsewhere.
 *
 * @module
 */

/**
 * Its constructor returns the object that it is given, which lets a subclass add its private fields to a foreign
 * object.
 */
export class Foreign {
  constructor(foreign: object) {
    // biome-ignore lint/correctness/noConstructorReturn: that is the purpose
    return foreign
  }
}
