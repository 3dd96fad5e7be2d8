import { describeScene } from './scene-cases.ts'

describeScene('Tomcat')
